import { expect, test } from 'vitest'
import {
  type Counter,
  calendarDay,
  fixedWindow,
  slidingWindow,
  tokenBucket,
} from '../support/strict-counters.ts'
import { type Call, usedShare } from '../support/used-share.ts'
import { aJob, aPlan } from './judge/planted.ts'
import { openStore } from './open-store.ts'
import type { JobPlan, KeyPlan, Plan } from './plan/plan.ts'
import { runPlan } from './run-plan.ts'
import { EPOCH } from './world/process.ts'
import { Random } from './world/random.ts'

// Another party counts the calls of three worker processes. Time is virtual: no floor depends on the speed of the machine.

const MINUTE = 60_000
const WINDOWS = 3
/** Fixed windows begin at so many times. */
const PHASES = 24
/** Jobs of one request of the producer. */
const BATCH = 20
const WORKERS = [0, 7, 31].map((at) => ({ at, concurrency: 20, lease: 5_000, scheduler: true }))
const WAY = { least: 300, jitter: 200, spikes: 0.002, spike: 5_000 }
/** All workers listen by then. */
const OPEN = 500

/** Work of one key; milliseconds. */
interface Line {
  readonly limit: KeyPlan
  readonly from: number
  /** So many jobs are there at first, and come in each window, so that the line is never empty. */
  readonly first: number
  readonly each: number
  readonly window: number
  readonly takes: number
  /** The most that a job says it takes; absent: it counts no tokens. */
  readonly tokens?: number
}

function jobsOf(random: Random, line: Line, nth: number): JobPlan[] {
  const { limit, from, first, each, window, takes, tokens } = line
  return Array.from({ length: first + Math.ceil(each * (WINDOWS + 0.25)) }, (_, n) => {
    const batch = Math.floor(n / BATCH)
    const at = from + (Math.max(0, batch * BATCH - first) / each) * window
    const job = { ...aJob(`${limit.key}${n}`), key: limit.key, at, batch: batch * 10 + nth }
    if (tokens === undefined) return { ...job, handler: { ...job.handler, takes } }
    const estimate = random.between(Math.ceil(tokens / 4), tokens)
    const amounts = [random.between(Math.ceil(estimate / 2), estimate)]
    const settles = { unit: 'tokens', amounts, atOnce: true, after: takes, isLate: false }
    return { ...job, costs: { tokens: estimate }, handler: { ...job.handler, takes, settles } }
  })
}

interface Seen {
  readonly requests: readonly Call[]
  /** What they took in the end, counted as they began. */
  readonly tokens: readonly Call[]
}

/** Returns when handlers of each key began, in order. */
async function work(
  seed: number,
  lines: readonly Line[],
  { ahead = 0, endsAt }: { readonly ahead?: number; readonly endsAt?: number } = {},
): Promise<Map<string, Seen>> {
  const random = new Random(seed)
  const jobs = lines.flatMap((line, nth) => jobsOf(random, line, nth))
  const plan: Plan = aPlan({
    seed,
    keys: lines.map(({ limit }) => limit),
    jobs,
    workers: WORKERS,
    network: { there: WAY, back: WAY, splits: 0.05 },
    ahead,
    // What has no room before the end is cancelled there.
    ...(endsAt !== undefined && {
      actions: jobs.map(({ id }) => ({ do: 'cancel' as const, at: endsAt, id })),
    }),
  })
  const { failures, history } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  const took = new Map(jobs.map(({ id, handler }) => [id, handler.settles?.amounts[0] ?? 0]))
  const starts = history.flatMap((event) => (event.type === 'start' ? [event] : []))
  return new Map(
    lines.map(({ limit: { key } }) => {
      const own = starts.filter((start) => start.key === key).sort((a, b) => a.at - b.at)
      return [
        key,
        {
          requests: own.map(({ at }) => ({ at, units: 1 })),
          tokens: own.map(({ at, id }) => ({ at, units: took.get(id)! })),
        },
      ]
    }),
  )
}

/** What reaches the other side, each call after a way of its own of up to so many milliseconds. */
function arrivals(random: Random, calls: readonly Call[], most: number): Call[] {
  return calls
    .map(({ at, units }) => ({ at: at + random.next() * most * 1_000, units }))
    .sort((a, b) => a.at - b.at)
}

function counters(amount: number, windowMs: number): [string, Counter][] {
  const length = windowMs * 1_000
  const phases = Array.from({ length: PHASES }, (_, n) => Math.round((length * n) / PHASES))
  return [
    ...phases.map((phase): [string, Counter] => [`from ${phase} us`, fixedWindow(amount, length, phase)]),
    ['sliding', slidingWindow(amount, length)],
    ['bucket', tokenBucket(amount, length)],
  ]
}

/** How often each counter refuses, of those that refuse. */
function refusals(calls: readonly Call[], all: readonly [string, Counter][]) {
  return all
    .map(([name, counter]) => [name, calls.filter(({ at, units }) => !counter.pass(at, units)).length])
    .filter(([, count]) => count !== 0)
}

/** Limits of windows of that length, and what the other side makes of the calls under them. */
async function useRolling(seed: number, window: number, parts: Parts) {
  const { calls, pace, travel, tokens, takes } = parts
  const rate = { count: pace, per: 1_000 }
  const line = { first: calls, each: calls, window, takes }
  const counted = (amount: number) => ({ capacity: 1_000, rate, quotas: [{ amount, window }] })
  const seen = await work(seed, [
    // The first call comes shortly before a part of the window ends: the next window begins as early as it can.
    { ...line, from: parts.from, limit: { key: 'requests', ...counted(calls) } },
    // A window as much longer as calls may come closer together on their way.
    {
      ...line,
      from: parts.from,
      limit: { key: 'travelling', ...counted(calls), quotas: [{ amount: calls, window: window + travel }] },
    },
    {
      ...line,
      from: OPEN,
      first: tokens.calls,
      each: tokens.calls,
      tokens: tokens.most,
      limit: {
        key: 'tokens',
        ...counted(2 * tokens.calls),
        quotas: [
          { amount: 2 * tokens.calls, window },
          { amount: tokens.amount, window, unit: 'tokens', each: tokens.most },
        ],
      },
    },
  ])
  const length = window * 1_000
  const { requests } = seen.get('requests')!
  const travelled = arrivals(new Random(seed), seen.get('travelling')!.requests, travel)
  const both = seen.get('tokens')!
  return {
    refusals: [
      ...refusals(requests, counters(calls, window)),
      ...refusals(travelled, counters(calls, window)),
      ...refusals(both.requests, counters(2 * tokens.calls, window)),
      ...refusals(both.tokens, counters(tokens.amount, window)),
    ],
    shares: [
      usedShare(requests, calls, length, WINDOWS),
      usedShare(travelled, calls, length, WINDOWS),
      usedShare(both.tokens, tokens.amount, length, WINDOWS),
    ],
  }
}

interface Parts {
  readonly from: number
  readonly calls: number
  readonly pace: number
  readonly takes: number
  readonly travel: number
  /** So many fit into a window, about; each says that it takes `most` at most. */
  readonly tokens: { readonly amount: number; readonly most: number; readonly calls: number }
}

test('calls and tokens a minute: none is refused, and 97.5 % of what is allowed is used', async () => {
  const tokens = { amount: 2_000, most: 40, calls: 108 }
  const parts = { from: 1_965, calls: 60, pace: 50, takes: 150, travel: 100, tokens }
  const { refusals, shares } = await useRolling(1, MINUTE, parts)
  expect(refusals).toEqual([])
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.975)
})

test('calls and tokens in two seconds: none is refused, and 95 % of what is allowed is used', async () => {
  const tokens = { amount: 400, most: 16, calls: 50 }
  const parts = { from: 1_990, calls: 40, pace: 80, takes: 10, travel: 20, tokens }
  const { refusals, shares } = await useRolling(2, 2_000, parts)
  expect(refusals).toEqual([])
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.95)
})

test('calls by the day of Berlin: none is refused by a clock that is a second off, and 95 % of a day are used', async () => {
  const zone = 'Europe/Berlin'
  const amount = 120
  const midnight = 30_000
  // The day before has 23 hours.
  const ahead = Date.UTC(2027, 2, 28, 22) - midnight - EPOCH / 1_000
  const limit = {
    capacity: 1_000,
    rate: { count: 5, per: 1_000 },
    quotas: [{ amount, window: { period: 'day', zone } }],
  } as const
  const line = { first: 2.5 * amount, each: 1, window: 1, takes: 150 }
  const lines = [
    // The first day is used up before it ends; the second line works when the next day begins.
    { ...line, from: OPEN, limit: { key: 'spent', ...limit } },
    { ...line, from: midnight - 6_000, limit: { key: 'late', ...limit } },
  ]
  const seen = await work(1, lines, { ahead, endsAt: midnight + 40_000 })
  const travels = new Random(1)
  for (const [, { requests }] of seen) {
    for (const off of [-900, 0, 900]) {
      const clock = (at: number) => EPOCH + at + (ahead + off) * 1_000
      const calls = arrivals(travels, requests, 90).map(({ at, units }) => ({ at: clock(at), units }))
      expect(refusals(calls, [[`${off} ms off`, calendarDay(amount, zone)]])).toEqual([])
    }
    const next = requests.filter(({ at }) => at >= midnight * 1_000)
    expect(next.length / amount).toBeGreaterThanOrEqual(0.95)
  }
  const first = seen.get('spent')!.requests.filter(({ at }) => at < midnight * 1_000)
  expect(first).toHaveLength(amount)
})
