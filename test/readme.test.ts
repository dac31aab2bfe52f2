import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { examplesOf, inFile, run } from './support/document-examples.ts'
import { startRedis } from './support/redis-server.ts'

const all = await examplesOf('README.md')
const named = (name: string) => all.find(({ code }) => code.startsWith(`// ${name}`))!
const examples = all.filter(({ code }) => !/^\/\/ \w+\.ts/.test(code))

/** Without the times of the examples in real time: a busy machine adds to them. */
function timeless(output: string): string {
  return output.replace(/\d\.\d s$/gm, '<time>')
}

/** What comes late, comes late; nothing comes early. */
function departures(output: string): number[] {
  return [...output.matchAll(/departs after (\d\.\d) s$/gm)].map(([, seconds]) => Number(seconds))
}

test('the README shows examples with their output', () => {
  expect(examples.length).toBeGreaterThanOrEqual(2)
  expect(
    named('producer.ts').code.split('\n').length + named('worker.ts').code.split('\n').length,
  ).toBeLessThan(24)
})

test.each(examples)(
  '$title prints what the README says, and departs no earlier',
  async ({ code, output }) => {
    const said = await run(code)
    expect(timeless(said)).toBe(timeless(output))
    for (const [n, seconds] of departures(said).entries())
      expect(seconds).toBeGreaterThanOrEqual(departures(output)[n]!)
  },
)

test('a producer and a worker on Redis print what the README says', async () => {
  const redis = await startRedis()
  const options = { env: { ...process.env, REDIS_URL: redis.url } }
  const [producer, worker] = [named('producer.ts'), named('worker.ts')]
  await inFile(producer.code, async (file) => {
    const { stdout } = await promisify(execFile)(process.execPath, [file], options)
    expect(timeless(stdout)).toBe(timeless(producer.output))
  })
  await inFile(worker.code, async (file) => {
    const child = spawn(process.execPath, [file], options)
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
