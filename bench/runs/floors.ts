import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { checkHistory } from '../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../src/conformance/history.ts'
import { MILLISECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { Shaper } from '../../src/index.ts'
import { RedisProcess } from '../../test/support/redis-process.ts'
import { TcpProxy } from '../../test/support/tcp-proxy.ts'
import type { RunOrder, RunStart } from './worker-process.ts'

/**
 * Which part of a high rate three worker processes reach, and whether a start comes too early: `tsx bench/runs/floors.ts`. One key at
 * 2,000 a second; one at 200 a second whose workers are 5 ms away from Redis, each way; and 1,000 keys below a total of 1,000 a second.
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
  },
})
const PROCESS = fileURLToPath(new URL('./worker-process.ts', import.meta.url))
const WARM_UP_MS = 2_000

async function run(scenario: Scenario): Promise<void> {
  const redis = await RedisProcess.start({ port: 'free' })
  const network = await TcpProxy.start(redis.port!)
  if (scenario.delayMs !== undefined)
    network.weather = { thereMs: scenario.delayMs, backMs: scenario.delayMs }
  const seconds = Number(flags.seconds)
  await fill(redis.url, scenario, seconds)
  const connection = scenario.delayMs === undefined ? redis.url : network.url
  const starts: number[] = []
  const workers: ChildProcess[] = []
  for (let n = 0; n < Number(flags.workers); n++) {
    const order: RunOrder = { limits: scenario.limits, connection }
    const worker = fork(PROCESS, [JSON.stringify(order)], { execArgv: process.execArgv })
    worker.on('message', (message) => {
      if (message !== 'ready') starts.push(...(message as RunStart[]))
    })
    await once(worker, 'message')
    workers.push(worker)
  }
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
    scenario,
    starts.filter((at) => at >= from && at < until).sort((a, b) => a - b),
    (until - from) / 1_000,
  )
}

async function fill(url: string, { limits, keys, rate }: Scenario, seconds: number): Promise<void> {
  const shaper = new Shaper<null>('runs', { limits, connection: url })
  await shaper.ready()
  const jobs = rate * (seconds + 6)
  for (let from = 0; from < jobs; from += 1_000) {
    const keyOf = (index: number) => keys[(from + index) % keys.length]!
    await shaper.enqueueMany(Array.from({ length: 1_000 }, (_, index) => ({ key: keyOf(index), data: null })))
  }
  await shaper.close()
}

function report({ name, limits, judged, rate }: Scenario, starts: readonly number[], seconds: number): void {
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
  console.log(`${name}: utilisation ${used.toFixed(3)}, too early ${early} of ${starts.length}`)
}

for (const scenario of SCENARIOS) {
  if (flags.only === undefined || scenario.name.includes(flags.only)) await run(scenario)
}
process.exit()
