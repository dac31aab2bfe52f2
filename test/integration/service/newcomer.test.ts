import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { built } from '../../support/built.ts'
import { freePort } from '../../support/redis-process.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const PORT = '7077'

interface Step {
  readonly command: string
  readonly output: string
}

/** The commands of the README's dialogue with the service, each with what it prints. */
function dialogue(): Step[] {
  const block = /```console\n(\$ cat velvet-rope\.yaml\n[\s\S]*?)```/.exec(readme)![1]!
  return block
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
  return output
    .replace(/\r/g, '')
    .replace(/[0-9a-f]{32}/g, '<id>')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<request>')
    .replace(/("departsAt":)\d+/g, '$1<time>')
    .replace(/("waitMs":|"retryAfterMs":|there is room in )[1-9]\d*/g, '$1<ms>')
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

test('the dialogue with the service in the README runs as printed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-newcomer-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const steps = dialogue()
  const port = `${await freePort()}`
  const ours = (text: string) => text.replaceAll(PORT, port)
  writeFileSync(join(folder, 'velvet-rope.yaml'), `${ours(steps[0]!.output)}\n`)
  const run = shell(folder)
  const main = [process.execPath, built('src/cli/main.ts')]
  await run(`velvet-rope() { ${main.map((word) => `'${word}'`).join(' ')} "$@" --listen 127.0.0.1:${port}; }`)
  const statuses: string[] = []
  for (const { command, output } of steps) {
    const said = await run(ours(command))
    expect(settled(said).trimEnd(), command).toBe(ours(settled(output)))
    statuses.push(...(/^HTTP\S+ (\d+)/.exec(said)?.slice(1) ?? []))
    if (command.startsWith('velvet-rope serve'))
      await run('until grep -q listening serve.log; do sleep 0.05; done')
  }
  expect(statuses).toEqual(['202', '202', '429', '202'])
})
