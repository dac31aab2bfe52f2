import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { built } from './support/built.ts'
import { launch, launchProgram } from './support/launch.ts'
import { freePort } from './support/redis-process.ts'
import { startRedis } from './support/redis-server.ts'

/** The tolerance of the limits in the examples, and what is lost where a time is printed in whole milliseconds. */
const TOLERANCE_MS = 5 + 1

const pathOf = (name: string) => fileURLToPath(new URL(`../examples/${name}`, import.meta.url))
const runExample = (name: string, env: NodeJS.ProcessEnv = {}) =>
  launchProgram(process.execPath, [built(`examples/${name}`)], '', env)

/** Every match of a pattern, by the names of its groups. */
function linesOf(text: string, pattern: RegExp): Record<string, string>[] {
  return [...text.matchAll(new RegExp(pattern, 'gm'))].map(({ groups }) => ({ ...groups }))
}

function expectSpacing(times: readonly number[], intervalMs: number): void {
  for (const [n, at] of times.entries())
    if (n > 0) expect(at - times[n - 1]!).toBeGreaterThanOrEqual(intervalMs - TOLERANCE_MS)
}

test('sms.ts sends every message at the rate of its number, and holds a line after a 429', async () => {
  const { code, stdout, stderr } = await runExample('sms.ts').ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const sent = linesOf(stdout, /^(?<at>[\d.]+) s {2}(?<from>\+\d+) {2}to (?<to>\w+): /)
  const refused = linesOf(stdout, /^(?<at>[\d.]+) s {2}(?<from>\+\d+) {2}429: /)
  expect(refused).toHaveLength(1)
  expect(stdout).toMatch(/ {2}\+15550100 {2}full: again in \d+ ms$/m)
  for (const [from, intervalMs] of [
    ['+15550100', 500],
    ['+18005550199', 200],
  ] as const) {
    const ofNumber = sent.filter((line) => line['from'] === from)
    const times = ofNumber.map(({ at }) => Number(at) * 1000)
    expectSpacing(times, intervalMs)
    const [hold] = refused.filter((line) => line['from'] === from)
    const again = hold === undefined ? -1 : times.findIndex((at) => at > Number(hold['at']) * 1000)
    if (hold !== undefined) expect(times[again]).toBeGreaterThanOrEqual(Number(hold['at']) * 1000 + 999)
    // The message that was refused is the first that is sent after it.
    const names = ofNumber.map(({ to }) => to).filter((_, n) => n !== again)
    expect(names).toEqual(['Ada', 'Grace', 'Edsger', 'Barbara', 'Donald', 'Radia'])
  }
})

test('redis/worker.ts in two processes sends what redis/producer.ts enqueued, at one rate for each tenant', async () => {
  const redis = await startRedis()
  const env = { REDIS_URL: redis.url }
  const workers = [1, 2].map(() => runExample('redis/worker.ts', env))
  await Promise.all(workers.map((worker) => worker.said('is ready')))
  const produced = await runExample('redis/producer.ts', env).ended
  expect(produced).toMatchObject({ code: 0, stderr: '' })
  expect(
    linesOf(produced.stdout, /^(?<tenant>\w+) invoice \d+: number \d+ in its line, departs in /),
  ).toHaveLength(16)
  const sent = /^(?<at>\S+) {2}worker (?<pid>\d+) {2}(?<tenant>\w+) invoice (?<invoice>\d+)$/
  await expect.poll(() => workers.flatMap((worker) => linesOf(worker.written.stdout, sent)).length).toBe(16)
  for (const worker of workers) worker.signal('SIGTERM')
  const ended = await Promise.all(workers.map((worker) => worker.ended))
  expect(ended).toMatchObject([1, 2].map(() => ({ code: 0, stderr: '' })))
  const lines = ended.flatMap(({ stdout }) => linesOf(stdout, sent))
  for (const tenant of ['acme', 'globex']) {
    const ofTenant = lines
      .filter((line) => line['tenant'] === tenant)
      .sort((a, b) => Date.parse(a['at']!) - Date.parse(b['at']!))
    expect(ofTenant.map(({ invoice }) => Number(invoice))).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expectSpacing(
      ofTenant.map(({ at }) => Date.parse(at!)),
      250,
    )
  }
})

test('service/client.py enqueues at the service, which makes each call once, at the rate', async () => {
  const port = await freePort()
  const service = launch(['serve', '--config', pathOf('service/velvet-rope.yaml')], '', {
    VELVET_ROPE_LISTEN: '127.0.0.1:0',
    VELVET_ROPE_ALLOW: `http://127.0.0.1:${port}`,
    VELVET_ROPE_MAX_LAG_MS: '600000',
  })
  const [, url] = await service.saidLike(/"url":"(http:[^"]+)"/)
  const client = launchProgram('python3', [pathOf('service/client.py')], '', {
    VELVET_ROPE_URL: url,
    PORT: `${port}`,
  })
  const { code, stdout, stderr } = await client.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const called = linesOf(stdout, / s {2}called: order (?<order>\d+)$/).map(({ order }) => Number(order))
  expect(called.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect(linesOf(stdout, / s {2}order \d is accepted, \d of 4 wait$/)).toHaveLength(8)
  const shortest = /the shortest gap between two: (\d+) ms$/m.exec(stdout)![1]
  expect(Number(shortest)).toBeGreaterThanOrEqual(500 - TOLERANCE_MS)
  service.signal('SIGTERM')
  expect((await service.ended).code).toBe(0)
})

test('express.ts answers 202 while there is room and 429 after that, and sends at the rate', async () => {
  const server = runExample('express.ts', { PORT: '0' })
  const [url] = await server.saidLike(/http:\S+/)
  const order = (total: number, id: string) =>
    fetch(`${url}/shops/acme/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': id },
      body: JSON.stringify({ total }),
    })
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => order(n, `order-${n}`)))
  const accepted = answers.filter(({ status }) => status === 202)
  const rejected = answers.filter(({ status }) => status === 429)
  expect(accepted.length).toBeGreaterThanOrEqual(3)
  expect(accepted.length + rejected.length).toBe(12)
  for (const { headers } of rejected) expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  const paths = accepted.map(({ headers }) => headers.get('location'))
  const departures: number[] = []
  for (const path of paths) {
    await expect.poll(async () => (await fetch(`${url}${path}`)).json()).toMatchObject({ state: 'completed' })
    const { departedAt } = (await (await fetch(`${url}${path}`)).json()) as { departedAt: number }
    departures.push(departedAt)
  }
  expectSpacing(
    departures.sort((a, b) => a - b),
    500,
  )
  expect((await fetch(`${url}/orders/nothing`)).status).toBe(404)
  server.signal('SIGTERM')
  const { code, stdout, stderr } = await server.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(linesOf(stdout, /^\S+ {2}acme: order order-\d+ over \d+ goes out$/)).toHaveLength(accepted.length)
})
