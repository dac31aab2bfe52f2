import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startRedis } from './support/redis-server.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = await readFile(join(root, 'README.md'), 'utf8')
const EXAMPLE = /```ts\n(?<code>.*?)```\n+```text\n(?<output>.*?)```/gs

interface Example {
  readonly title: string
  readonly code: string
  readonly output: string
}

const all = [...readme.matchAll(EXAMPLE)].map(({ groups }): Example => {
  const code = groups!['code']!
  const title = code.split('\n').find((line) => /^const (?:shaper|meter)/.test(line))!
  return { title, code, output: groups!['output']! }
})
const named = (name: string) => all.find(({ code }) => code.startsWith(`// ${name}`))!
const examples = all.filter(({ code }) => !/^\/\/ \w+\.ts/.test(code))

test('the README shows examples with their output', () => {
  expect(examples.length).toBeGreaterThanOrEqual(2)
  expect(
    named('producer.ts').code.split('\n').length + named('worker.ts').code.split('\n').length,
  ).toBeLessThan(24)
})

test.each(examples)('$title prints what the README says', async ({ code, output }) => {
  await inFile(code, async (file) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file], { cwd: root })
    expect(stdout).toBe(output)
  })
})

test('a producer and a worker on Redis print what the README says', async () => {
  const redis = await startRedis()
  const options = { cwd: root, env: { ...process.env, REDIS_URL: redis.url } }
  const [producer, worker] = [named('producer.ts'), named('worker.ts')]
  await inFile(producer.code, async (file) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file], options)
    expect(stdout).toBe(producer.output)
  })
  await inFile(worker.code, async (file) => {
    const child = spawn(process.execPath, ['--import', 'tsx', file], options)
    let said = ''
    await new Promise<void>((resolve) => {
      child.once('close', resolve)
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (said.length >= worker.output.length) child.kill('SIGTERM')
      })
    })
    expect({ said, code: child.exitCode }).toEqual({ said: worker.output, code: 0 })
  })
})

async function inFile(code: string, use: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(root, 'test', '.example-'))
  try {
    const file = join(folder, 'example.mts')
    const ours = code
      .replaceAll("'velvet-rope/testing'", "'../../src/testing.ts'")
      .replaceAll("'velvet-rope/meter'", "'../../src/meter.ts'")
      .replaceAll("'velvet-rope'", "'../../src/index.ts'")
    await writeFile(file, ours)
    await use(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}
