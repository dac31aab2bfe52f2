import { expect, test } from 'vitest'
import { aJob, aPlan, SECOND } from './judge/planted.ts'
import { openStore } from './open-store.ts'
import { runPlan } from './run-plan.ts'

const keys = ['f/a', 'f/b'].map((key) => ({ key, capacity: 100, rate: { count: 100, per: 1_000 } }))
const totals = [{ key: 'f/', capacity: 100, rate: { count: 4, per: 1_000 } }]

/** A job of one of the two keys at each of these times. */
function jobs(times: readonly number[]) {
  return times.map((at, n) => ({ ...aJob(`j${n}`), key: keys[n % 2]!.key, at }))
}

async function run(plan: Parameters<typeof aPlan>[0]) {
  const { failures, history } = await runPlan(aPlan({ keys, totals, ...plan }), openStore)
  expect(failures).toEqual([])
  const starts = history.flatMap((event) => (event.type === 'start' ? [event.at] : []))
  return { starts, history }
}

test('a family goes on in time after the clock of Redis was set back', async () => {
  const slow = totals.map((total) => ({ ...total, rate: { count: 1, per: 1_000 } }))
  const faults = [{ kind: 'step', at: 500, by: -86_400_000, until: 500 }] as const
  const { starts } = await run({ totals: slow, jobs: jobs([100, 100, 100, 100]), faults })
  expect(starts).toHaveLength(4)
  expect(starts[3]).toBeLessThan(6 * SECOND)
})

test('no start is before the end of a freeze of a family, however little its worker knows of the clock of Redis', async () => {
  const times = Array.from({ length: 20 }, (_, n) => 1_000 + n * 700)
  const { starts, history } = await run({
    actions: times.map((at) => ({ do: 'freeze', at, key: 'f/', for: 300 })),
    jobs: jobs(times.map((at) => at + 100)),
    clocks: { 'worker-1': { offset: 0, drift: 200 } },
    network: {
      there: { least: 8_000, jitter: 10, spikes: 0, spike: 0 },
      back: { least: 100, jitter: 10, spikes: 0, spike: 0 },
      splits: 0,
    },
  })
  const ends = history.flatMap((event) => (event.type === 'freeze' ? [event.until] : []))
  expect(ends).toHaveLength(20)
  const early = starts.map((at, n) => ends[n]! - at).filter((by) => by > 0)
  expect(early).toEqual([])
})

test('jobs of a family start in time also where answers come to take longer than its tolerance', async () => {
  const way = (least: number) => ({ least, jitter: 100, spikes: 0, spike: 0 })
  const faster = { there: way(100), back: way(2_000) }
  const faults = [{ kind: 'slow', part: 'all', at: 0, for: 500, ...faster, until: 500 }] as const
  const { starts } = await run({
    jobs: jobs([1_000, 1_500, 2_000]),
    network: { there: way(100), back: way(40_000), splits: 0 },
    faults,
  })
  expect(starts).toHaveLength(3)
  for (const [n, at] of starts.entries()) expect(at).toBeLessThan((1.5 + 0.5 * n) * SECOND)
})

test('a child waits for the leases of a worker that its own job ended, while the others of its family go on', async () => {
  const [a, b] = keys.map(({ key }) => key)
  const own = [0, 1].map((n) => ({ ...aJob(`a${n}`), key: a!, at: 0 }))
  const others = Array.from({ length: 12 }, (_, n) => ({ ...aJob(`b${n}`), key: b!, at: 100 }))
  const poison = { ...own[0]!, handler: { ...own[0]!.handler, exits: 1 } }
  const workers = [{ at: 0, concurrency: 100, lease: 5_000, scheduler: true }]
  const slow = keys.map((key) => ({ ...key, rate: { count: 9, per: 1_000 } }))
  const { history } = await run({ keys: slow, jobs: [poison, own[1]!, ...others], workers })
  const early = history.filter((event) => event.type === 'start' && event.key === b && event.at < 4 * SECOND)
  expect(early.length).toBeGreaterThan(5)
  expect(history.filter((event) => event.type === 'end' && event.outcome === 'completed')).toHaveLength(14)
})
