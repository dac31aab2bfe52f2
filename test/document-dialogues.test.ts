import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { built } from './support/built.ts'
import { DOCUMENTS, ROOT } from './support/document-examples.ts'
import { freePort } from './support/redis-process.ts'

const PORT = '7077'
const DIALOGUE = /```console\n(?<text>\$ .*?)```/gs

interface Step {
  readonly command: string
  readonly output: string
}

/** The console blocks of a document that begin with a command: commands, each with what it prints. */
function dialoguesOf(document: string): Step[][] {
  const text = readFileSync(join(ROOT, document), 'utf8')
  return [...text.matchAll(DIALOGUE)].map(({ groups }) => stepsOf(groups!['text']!))
}

function stepsOf(dialogue: string): Step[] {
  return dialogue
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const lines = text.trimEnd().split('\n')
      const rest = lines.findIndex((line, index) => index > 0 && !line.startsWith('> '))
      const until = rest === -1 ? lines.length : rest
      const command = lines.slice(0, until).map((line) => line.replace(/^> /, ''))
      return { command: command.join('\n'), output: lines.slice(until).join('\n') }
    })
}

/** What is another each time. */
function settled(output: string): string {
  return (
    output
      .replace(/\r/g, '')
      // A machine may be so busy that a command says it is still there.
      .replace(/^waiting for an answer \(\d+ s\)\n/gm, '')
      .replace(/[0-9a-f]{32}/g, '<id>')
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<request>')
      .replace(/("departsAt":)\d+/g, '$1<time>')
      .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}/g, '<time>')
      .replace(/(another|departs in) \d+ min/g, '$1 <minutes>')
      .replace(/("waitMs":|"retryAfterMs":|there is room in )[1-9]\d*/g, '$1<ms>')
      .replace(/(^ratelimit: .*;t=|^retry-after: )[1-9]\d*/gm, '$1<s>')
  )
}

/** A shell in a folder of its own, in which `velvet-rope` is the program, built from the sources. */
function shell(folder: string) {
  const bash = spawn('bash', [], { cwd: folder, detached: true })
  onTestFinished(() => void process.kill(-bash.pid!, 'SIGKILL'))
  let said = ''
  let onData: () => void = () => undefined
  for (const stream of [bash.stdout, bash.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
      onData()
    })
  }
  let number = 0
  const run = async (command: string): Promise<string> => {
    const mark = `--- ${++number} ---\n`
    said = ''
    const ended = new Promise<void>((resolve) => {
      onData = () => {
        if (said.endsWith(mark)) resolve()
      }
    })
    bash.stdin.write(`${command}\nprintf '%s' '${mark}'\n`)
    await ended
    return said.slice(0, -mark.length)
  }
  return run
}

const dialogues = DOCUMENTS.flatMap((document) => dialoguesOf(document).map((steps) => ({ document, steps })))

test('documents show dialogues', () => {
  const shown = new Set(dialogues.map(({ document }) => document))
  const expected = [
    'README.md',
    ...['cli', 'configuration', 'explain', 'http', 'operations'].map((name) => `docs/${name}.md`),
  ]
  expect([...shown]).toEqual(expect.arrayContaining(expected))
})

test.each(dialogues)('a dialogue of $document runs as printed', async ({ steps }) => {
  const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-newcomer-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const port = `${await freePort()}`
  const ours = (text: string) => text.replaceAll(PORT, port)
  for (const { command, output } of steps) {
    const [, file] = /^cat (\S+)$/.exec(command) ?? []
    if (file !== undefined) writeFileSync(join(folder, file), `${ours(output)}\n`)
  }
  const run = shell(folder)
  const main = [process.execPath, built('src/cli/main.ts')].map((word) => `'${word}'`).join(' ')
  await run(`velvet-rope() { ${main} "$@"; }`)
  for (const { command, output } of steps) {
    const isServer = /^velvet-rope serve\b.*&$/.test(command)
    // A busy machine must not make the service refuse what it accepts in the documents.
    const settings = `VELVET_ROPE_LISTEN=127.0.0.1:${port} VELVET_ROPE_MAX_LAG_MS=60000`
    const printed = await run(ours(isServer ? `${settings} ${command}` : command))
    expect(settled(printed).trimEnd().replaceAll(port, PORT), command).toBe(settled(output))
    if (isServer) await run('until grep -q listening serve.log; do sleep 0.05; done')
  }
})
