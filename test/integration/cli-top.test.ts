import { spawn, spawnSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { built } from '../support/built.ts'
import { launch } from '../support/launch.ts'
import { openService } from '../unit/cli/open-service.ts'

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
// Built, because a pattern may not hold a control character.
const CODE = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, 'g')

it('top prints a line of JSON each time until it is interrupted', async () => {
  const { shaper, url } = await openService({ '*': '9, 1/h' })
  await shaper.enqueue('a', 1)
  const top = launch(['top', '--json', '--every', '0.05', '--url', url])
  await top.saidLike(/(?:\{.*\}\n){3}/)
  top.signal('SIGINT')
  const { stdout, stderr } = await top.ended
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ total, buckets }) => [total, buckets[0].key])).toEqual(lines.map(() => [1, 'a']))
  expect(stderr).toBe('')
})

/** A terminal that util-linux opens, 80 columns wide. What is printed after the end shows whether it is as before. */
function openTerminal(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const command = [process.execPath, built('src/cli/main.ts'), 'top', ...args].join(' ')
  const shell = `stty cols 80 rows 12; sh -c 'echo pid=$$; exec ${command}'; echo code=$?; stty -a`
  const child = spawn('script', ['-qec', shell, '/dev/null'], {
    env: { ...process.env, FORCE_COLOR: undefined, NO_COLOR: undefined, TERM: 'xterm', ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  return {
    text: () => text,
    press: (keys: string) => void child.stdin.write(keys),
    signal: (signal: NodeJS.Signals) => process.kill(Number(/pid=(\d+)/.exec(text)?.[1]), signal),
    /** Of the last picture that is whole, its lines without colours. */
    picture: () => {
      const frame =
        text
          .split('\u001b[H')
          .filter((part) => part.includes('quit'))
          .at(-1) ?? ''
      return frame.replace(CODE, '').replaceAll('\r', '')
    },
    ended,
  }
}

// Where no terminal can be opened, only the unit tests cover the screen and its restoration.
const terminals = spawnSync('script', ['--version']).stdout?.includes('util-linux') ? ['80 columns'] : []

describe.each(terminals)('top on a terminal of %s', () => {
  async function busy() {
    const service = await openService({ '*': '4, 1/h' })
    for (const key of ['full', 'full', 'full', 'full', 'half/\u202ea', 'half/\u202ea']) {
      await service.shaper.enqueue(key, 1)
    }
    return service
  }

  it('draws, filters while one types, and gives the terminal back as it was', async () => {
    const { shaper, url } = await busy()
    const terminal = openTerminal(['--url', url])
    await expect.poll(terminal.picture).toMatch(/^full +█{10} 100% +4\/4 {2}full /m)
    expect(terminal.picture()).toContain('half/\\u{202e}a')
    await shaper.enqueue('new', 1)
    await expect.poll(terminal.picture).toMatch(/^new /m)
    terminal.press('/half\r')
    await expect.poll(terminal.picture).toMatch(/^1 bucket: 2 wait.*\n+half\*/)
    terminal.press('q')
    await terminal.ended
    const [before, after] = terminal.text().split(LEAVE)
    expect(before).toContain(ENTER)
    expect(before).toContain('\u001b[31m')
    expect(before).not.toContain('\u202e')
    expect(after).toMatch(/code=0/)
    expect(after).toMatch(/ icanon [\s\S]* echo /)
  })

  it('shows that the service went away, and restores the terminal after SIGTERM', async () => {
    const { url, close } = await busy()
    const terminal = openTerminal(['--url', url])
    await expect.poll(terminal.picture).toMatch(/^full /m)
    await close()
    await expect.poll(terminal.text).toMatch(/old: the service at \S+ does not answer: /)
    terminal.signal('SIGTERM')
    await terminal.ended
    const after = terminal.text().split(LEAVE)[1]
    expect(after).toContain('code=143')
    expect(after).toMatch(/ icanon [\s\S]* echo /)
  })

  it('shows no colours where NO_COLOR forbids them, and leaves by Ctrl-C', async () => {
    const { url } = await busy()
    const terminal = openTerminal(['--url', url], { NO_COLOR: '1' })
    await expect.poll(terminal.picture).toMatch(/^full /m)
    terminal.press('\u0003')
    await terminal.ended
    expect(
      terminal
        .text()
        .match(CODE)
        ?.filter((code) => code.endsWith('m')),
    ).toEqual([])
    expect(terminal.text().split(LEAVE)[1]).toContain('code=130')
  })

  it('takes no screen when there is nothing to show on it', async () => {
    const { url, close } = await openService({ '*': '1, 1/s' })
    await close()
    const terminal = openTerminal(['--url', url])
    await terminal.ended
    expect(terminal.text()).toMatch(/velvet-rope: the service at \S+ does not answer: .*\r\ncode=1/)
    expect(terminal.text()).not.toContain(ENTER)
  })
})
