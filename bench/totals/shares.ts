import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parseLimit } from '../../src/core/limit.ts'
import { checkHistory, type HistoryEvent } from '../../src/testing.ts'
import { startRedis } from '../redis/server.ts'
import type { PRODUCTS, ShareOrder, ShareStart } from './share-process.ts'

/**
 * What tenants behind one account get while one of them floods: `tsx bench/totals/shares.ts`. Three processes produce and consume over one
 * Redis; all tenants together may start 100 jobs a second. One tenant brings thousands at once, each of the others one a second, or `every`
 * so many. Shares are judged by the checker of the laws (L12).
 */
const { values: flags } = parseArgs({
  options: {
    tenants: { type: 'string', default: '50' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '20' },
    flood: { type: 'string', default: '5000' },
    /** Seconds between two jobs of each of the others. */
    every: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
})
const PROCESS = fileURLToPath(new URL('./share-process.ts', import.meta.url))
const PROCESSES = 3
const ALL: readonly (keyof typeof PRODUCTS)[] = [
  'velvet-rope',
  'BullMQ, one queue',
  'BullMQ, a queue per tenant',
  'Bottleneck, chained',
]
/** Starts may bunch up by the tolerance of a total. */
const TOLERANCE_MS = 10
/** What may have been handed over ahead of its slot, as time of the total; microseconds. */
const HANDED = 250_000

interface Enqueued {
  readonly tenant: string
  readonly at: number
  readonly count: number
}

const now = () => performance.timeOrigin + performance.now()

async function run(product: keyof typeof PRODUCTS): Promise<void> {
  const { address, stop } = await startRedis()
  const rate = Number(flags.rate)
  const tenants = Array.from({ length: Number(flags.tenants) }, (_, n) => `t${n}`)
  const order: ShareOrder = { product, address, tenants, rate }
  const starts: ShareStart[] = []
  const processes: ChildProcess[] = []
  for (let n = 0; n < PROCESSES; n++) {
    const child = fork(PROCESS, [JSON.stringify(order)], { execArgv: process.execArgv })
    child.on('message', (message) => {
      if (message !== 'ready') starts.push(message as ShareStart)
    })
    await once(child, 'message')
    processes.push(child)
  }
  const enqueued: Enqueued[] = []
  const enqueue = (tenant: string, count: number) => {
    const at = now()
    enqueued.push({ tenant, at, count })
    processes[Number(tenant.slice(1)) % PROCESSES]!.send({ tenant, at, count })
  }
  if (Number(flags.flood) > 0) enqueue('t0', Number(flags.flood))
  await pass(1_000)
  const from = now()
  const others = tenants.slice(1)
  const every = Number(flags.every)
  for (let second = 0; second < Number(flags.seconds); second += every) {
    for (const [index, tenant] of others.entries()) {
      enqueue(tenant, 1)
      await pass(Math.max(0, from + 1_000 * (second + (every * (index + 1)) / others.length) - now()))
    }
  }
  const until = now()
  for (const child of processes) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await stop()
  report(product, starts, from, until, rate)
  const unfair = checkHistory(historyOf(enqueued, starts, rate), { handed: HANDED, unfinished: true }).filter(
    ({ law }) => law === 'L12',
  )
  console.log(
    `  breaches of L12: ${unfair.length}${unfair.slice(0, 1).map(({ message }) => `, such as: ${message}`)}`,
  )
}

function report(
  product: string,
  all: readonly ShareStart[],
  from: number,
  until: number,
  rate: number,
): void {
  const starts = all.filter(({ at }) => at >= from && at < until).sort((a, b) => a.at - b.at)
  const waits = starts.filter(({ tenant }) => tenant !== 't0').map(({ at, enqueuedAt }) => at - enqueuedAt)
  waits.sort((a, b) => a - b)
  const at = (share: number) =>
    `${Math.round(waits[Math.floor((waits.length - 1) * share)] ?? Number.NaN)} ms`
  const interval = 1_000 / rate
  // A start breaches the limit where it comes too early after any of the last hundred.
  const breaches = starts.filter((start, index) =>
    starts.slice(Math.max(0, index - 100), index).some((before, place, some) => {
      return start.at - before.at < (some.length - place) * interval - TOLERANCE_MS - 0.05
    }),
  )
  const used = starts.length / ((until - from) / 1_000) / rate
  const flood = starts.length - waits.length
  console.log(
    `${product}: utilisation ${used.toFixed(3)}, too early ${breaches.length} of ${starts.length}, the flood got ${flood}; ` +
      `others waited ${at(0.5)} at the median, ${at(0.99)} at the 99th percentile, and ${waits.length} of theirs started`,
  )
}

/** What the processes did, in the words of the checker. The jobs of a tenant start in order. */
function historyOf(
  enqueued: readonly Enqueued[],
  starts: readonly ShareStart[],
  rate: number,
): HistoryEvent[] {
  const us = (ms: number) => ms * 1_000
  const keyOf = (tenant: string) => `all/${tenant}`
  const limit = parseLimit(`1000000, ${rate}/s`)
  const begin = us(enqueued[0]!.at)
  const keys = new Set(enqueued.map(({ tenant }) => keyOf(tenant)))
  const rules = ['all/', ...keys].map((key): HistoryEvent => ({ type: 'limit', at: begin, key, limit }))
  const numbers = new Map<string, number>()
  const next = (list: string, tenant: string) => {
    const number = numbers.get(list + tenant) ?? 0
    numbers.set(list + tenant, number + 1)
    return { id: `${tenant}-${number}`, key: keyOf(tenant), cost: 1 }
  }
  const answers = enqueued.flatMap(({ tenant, at, count }) =>
    Array.from({ length: count }, (): HistoryEvent => {
      return { type: 'answer', at: us(at), ...next('answer', tenant), accepted: true, departsAt: us(at) }
    }),
  )
  const departures = starts
    .toSorted((a, b) => a.at - b.at)
    .map(({ tenant, at }): HistoryEvent => {
      return { type: 'start', at: us(at), ...next('start', tenant), attempt: 1 }
    })
  return [...rules, ...[...answers, ...departures].sort((a, b) => a.at - b.at)]
}

for (const product of ALL) if (flags.only === undefined || flags.only === product) await run(product)
process.exit()
