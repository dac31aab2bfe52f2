import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Argument, Command, Option } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fishCompletion } from '../../../src/cli/completion/fish.ts'
import { completionTree } from '../../../src/cli/completion/tree.ts'
import { zshCompletion } from '../../../src/cli/completion/zsh.ts'
import { run } from './run-program.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-completion-'))
afterAll(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'a file.csv'), '')
writeFileSync(join(folder, 'limits.json'), '')

let script: string
beforeAll(async () => {
  script = (await run('completion', 'bash')).stdout
})

/** Does what bash itself does at the tab key: asks the function that was set for the program. */
const DRIVER = `
source <(printf '%s' "$SCRIPT")
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
$(complete -p velvet-rope | sed 's/.*-F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "\${COMPREPLY[@]}"`

/** What bash offers for the last of these words, as it cuts them. */
function offers(...words: string[]): string[] {
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', DRIVER, 'bash', ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'], SCRIPT: script },
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((line) => line !== '')
}

describe('completion in bash', () => {
  it('offers every command, and those that begin so', async () => {
    const { stdout } = await run('--help')
    const commands = [...stdout.matchAll(/^ {2}([a-z]+)(?: |$)/gm)].map(([, name]) => name)
    expect(commands).toContain('limits')
    expect(offers('velvet-rope', '')).toEqual(commands)
    expect(offers('velvet-rope', 'li')).toEqual(['limits'])
    expect(offers('velvet-rope', 'x')).toEqual([])
    expect(offers('velvet-rope', '--v')).toEqual(['--version'])
  })

  it('offers commands of a command, and their flags', () => {
    expect(offers('velvet-rope', 'limits', '')).toEqual(['list', 'set', 'unset', 'reset', 'help'])
    expect(offers('velvet-rope', 'limits', 'set', '--')).toContain('--token')
    expect(offers('velvet-rope', 'limits', 'set', 'pattern', '--js')).toEqual(['--json'])
    expect(offers('velvet-rope', 'limits', '--')).toEqual(['--help'])
    expect(offers('velvet-rope', 'top', '--')).toContain('--min-fill')
  })

  it('offers the values of a flag, in the next word or after =', () => {
    const sorts = ['fill', 'waiting', 'oldest', 'next', 'running', 'key']
    expect(offers('velvet-rope', 'top', '--sort', '')).toEqual(sorts)
    expect(offers('velvet-rope', 'top', '--sort', '=')).toEqual(sorts)
    expect(offers('velvet-rope', 'top', '--sort', '=', 'o')).toEqual(['oldest'])
    expect(offers('velvet-rope', 'completion', '')).toEqual(['bash', 'zsh', 'fish'])
  })

  it('offers what may follow a flag that can stand alone', () => {
    expect(offers('velvet-rope', 'simulate', '--compare', '--sv')).toEqual(['--svg'])
    expect(offers('velvet-rope', 'simulate', '--compare', 'l')).toEqual(['limits.json'])
  })

  it('offers files where a file is wanted, whatever they are called', () => {
    expect(offers('velvet-rope', 'verify', 'a')).toEqual(['a file.csv'])
    expect(offers('velvet-rope', 'work', 'l')).toEqual(['limits.json'])
    expect(offers('velvet-rope', 'enqueue', '--limits', 'l')).toEqual(['limits.json'])
  })

  it('offers nothing where only the reader knows, and takes no value for a command', () => {
    expect(offers('velvet-rope', 'top', '--name', '')).toEqual([])
    expect(offers('velvet-rope', 'limits', 'list', '--name', 'set', '--rese')).toEqual([])
    expect(offers('velvet-rope', 'top', '--url', 'http', ':', '//h', ':', '1', '--rev')).toEqual([
      '--reverse',
    ])
  })
})

/** A program whose words are as awkward as they may be. */
function awkward(): Command {
  const program = new Command('my-rope')
  program
    .command('one', { hidden: false })
    .summary("it's one: \\ the first")
    .addOption(new Option('-c, --colour <name>', 'which').choices(['red', 'blue']))
    .option('--in <file>', "the reader's file")
    .option('--quiet', 'says nothing')
    .addArgument(new Argument('<what>').choices(['this', 'that']))
  program.command('secret', { hidden: true })
  program.command('two').command('deep').option('--maybe [text]', 'or not')
  return program
}

describe('what can be completed', () => {
  it('is derived from the commands, without hidden ones', () => {
    const [root, one, two, deep, ...more] = completionTree(awkward())
    expect(root!.commands.map(({ name }) => name)).toEqual(['one', 'two', 'help'])
    expect(one).toMatchObject({
      path: 'one',
      argument: ['this', 'that'],
      flags: [
        { names: ['-c', '--colour'], value: ['red', 'blue'] },
        { names: ['--in'], value: 'file' },
        { names: ['--quiet'], value: undefined },
        { names: ['-h', '--help'], value: undefined },
      ],
    })
    expect([two!.path, deep!.path, more]).toEqual(['two', 'two deep', []])
    expect(deep!.flags[0]).toMatchObject({ names: ['--maybe'], value: undefined })
  })

  it('is quoted for fish', () => {
    const text = fishCompletion('my-rope', completionTree(awkward()))
    const at = (path: string) => `complete -c my-rope -n "__my_rope_at '${path}'"`
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'complete -c my-rope -f',
        `${at('')} -a one -d 'it\\'s one: \\\\ the first'`,
        `${at('one')} -a 'this that'`,
        `${at('one')} -s c -l colour -x -a 'red blue' -d 'which'`,
        `${at('one')} -l in -r -F -d 'the reader\\'s file'`,
        `${at('one')} -l quiet -d 'says nothing'`,
        `${at('two deep')} -l maybe -d 'or not'`,
        "      case 'one|-c' 'one|--colour' 'one|--in'",
      ]),
    )
    expect(text).not.toContain('secret')
  })

  it('is quoted for zsh, with a syntax that bash shares', () => {
    const text = zshCompletion('my-rope', completionTree(awkward()))
    expect(text).toMatch(/^#compdef my-rope\n/)
    expect(text).toContain("'one:it'\\''s one: \\ the first'")
    expect(text).toContain("'one|-c' | 'one|--colour') wanted='red blue' ;;")
    expect(text).toContain("'one|'*) compadd -- this that ;;")
    // What only zsh has is in words that bash reads as well.
    expect(spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    })
  })
})

describe('completion refuses', () => {
  it.each([
    [[], "missing required argument 'shell'"],
    [['powershell'], 'Allowed choices are bash, zsh, fish'],
  ])('%j', async (args, message) => {
    expect(await run('completion', ...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  })

  it('no known shell, and says how to load each', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      expect(await run('completion', shell)).toMatchObject({ code: 0, stderr: '' })
    }
    expect((await run('completion', '--help')).stdout).toContain('source <(velvet-rope completion bash)')
  })
})
