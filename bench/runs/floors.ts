import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { checkHistory } from '../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../src/conformance/history.ts'
import { MILLISECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { RedisProcess } from '../../test/support/redis-process.ts'
import { TcpProxy } from '../../test/support/tcp-proxy.ts'
import type { RunOrder, RunStart } from './worker-process.ts'

/**
 * Which part of a high rate three worker processes reach, and whether a start comes too early, product by product:
 * `tsx bench/runs/floors.ts`. One key at 2,000 a second; one at 200 a second whose workers are 5 ms away from Redis, each way; and 1,000 keys below a total of 1,000 a second.
 */
interface Scenario {
  readonly name: string
  readonly limits: RunOrder['limits']
  readonly keys: readonly string[]
  readonly rate: number
  /** The key whose starts are judged, and its limit: that of the total counts all of them. */
  readonly judged: string
  readonly delayMs?: number
}

const KEYS = Array.from({ length: 1_000 }, (_, n) => `all/${n}`)
const SCENARIOS: readonly Scenario[] = [
  {
    name: 'one key, 2,000/s, tolerance 2 ms',
    limits: { k: '1000000, 2000/s, tolerance 2ms' },
    keys: ['k'],
    rate: 2_000,
    judged: 'k',
  },
  {
    name: 'one key, 200/s, 5 ms away',
    limits: { k: '1000000, 200/s' },
    keys: ['k'],
    rate: 200,
    judged: 'k',
    delayMs: 5,
  },
  { name: 'one key, 200/s', limits: { k: '1000000, 200/s' }, keys: ['k'], rate: 200, judged: 'k' },
  {
    name: 'a total of 1,000/s over 1,000 keys',
    limits: { '*': '1000, 10/s', 'all/': '1000000, 1000/s' },
    keys: KEYS,
    rate: 1_000,
    judged: 'all/',
  },
]
const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    workers: { type: 'string', default: '3' },
    only: { type: 'string' },
    product: { type: 'string' },
  },
})
const PROCESS = fileURLToPath(new URL('./worker-process.ts', import.meta.url))
const PRODUCTS: readonly RunOrder['product'][] = ['velvet-rope', 'BullMQ', 'Bottleneck']
const WARM_UP_MS = 2_000
/** More than can start from the first worker's beginning to the end. */
const SPARE_SECONDS = 6

async function run(product: RunOrder['product'], scenario: Scenario): Promise<void> {
  const redis = await RedisProcess.start({ port: 'free' })
  const network = await TcpProxy.start(redis.port!)
  if (scenario.delayMs !== undefined)
    network.weather = { thereMs: scenario.delayMs, backMs: scenario.delayMs }
  const seconds = Number(flags.seconds)
  const count = Number(flags.workers)
  const connection = scenario.delayMs === undefined ? redis.url : network.url
  const { limits, keys, rate } = scenario
  const jobs = Math.ceil((rate * (seconds + SPARE_SECONDS)) / count)
  const order: RunOrder = { product, limits, keys, rate, connection, jobs }
  const starts: number[] = []
  const workers: ChildProcess[] = []
  for (let n = 0; n < count; n++) {
    const worker = fork(PROCESS, [JSON.stringify(order)], { execArgv: process.execArgv })
    await once(worker, 'message')
    worker.on('message', (message) => starts.push(...(message as RunStart[])))
    workers.push(worker)
  }
  for (const worker of workers) worker.send('begin')
  await pass(WARM_UP_MS)
  const from = performance.timeOrigin + performance.now()
  await pass(seconds * 1_000)
  const until = performance.timeOrigin + performance.now()
  // What was seen is sent in batches.
  await pass(500)
  for (const worker of workers) {
    worker.kill('SIGKILL')
    await once(worker, 'exit')
  }
  await network[Symbol.asyncDispose]()
  await redis.stop()
  report(
    product,
    scenario,
    starts.filter((at) => at >= from && at < until).sort((a, b) => a - b),
    (until - from) / 1_000,
  )
}

function report(
  product: string,
  { name, limits, judged, rate }: Scenario,
  starts: readonly number[],
  seconds: number,
): void {
  if (starts.length === 0) {
    console.log(`${name}, ${product}: nothing started`)
    return
  }
  const { limit } = parseRule(judged, limits[judged]!)
  const history: HistoryEvent[] = [{ type: 'limit', at: starts[0]! * MILLISECOND, key: 'k', limit }]
  for (const [index, start] of starts.entries()) {
    const [at, id] = [start * MILLISECOND, String(index)]
    history.push(
      { type: 'answer', at, id, key: 'k', cost: 1, accepted: true, departsAt: at },
      { type: 'start', at, id, key: 'k', cost: 1, attempt: 1 },
      { type: 'end', at, id, outcome: 'completed' },
    )
  }
  const early = checkHistory(history).filter(({ law }) => law === 'L2').length
  const used = starts.length / seconds / rate
  console.log(`${name}, ${product}: utilisation ${used.toFixed(3)}, too early ${early} of ${starts.length}`)
}

for (const scenario of SCENARIOS) {
  if (flags.only !== undefined && !scenario.name.includes(flags.only)) continue
  for (const product of PRODUCTS) {
    if (flags.product === undefined || product === flags.product) await run(product, scenario)
  }
}
process.exit()
