import { expect, test } from 'vitest'
import { aJob, aPlan, SECOND } from './judge/planted.ts'
import { openStore } from './open-store.ts'
import { runPlan } from './run-plan.ts'

// Redis ends waits by the clock that is set: one that was under way lasts a day longer.
const keys = [{ key: 'k', capacity: 10, rate: { count: 100, per: 1_000 } }]
const faults = [{ kind: 'step', at: 500, by: -86_400_000, until: 500 }] as const

test('a job whose worker died comes back in time after the clock of Redis was set back', async () => {
  const poison = { ...aJob('a'), handler: { ...aJob('a').handler, exits: 2 } }
  const workers = [{ at: 0, concurrency: 100, lease: 5_000, scheduler: false }]
  const { failures, history } = await runPlan(
    aPlan({ keys, jobs: [poison], workers, schedulers: 2, faults }),
    openStore,
  )
  expect(failures).toEqual([])
  expect(history.filter((event) => event.type === 'start')).toHaveLength(3)
})

test('turns reach their callers in time after the clock of Redis was set back', async () => {
  const times = [1, 8_000, 8_700, 9_400]
  const turns = times.map((at) => ({ caller: 1, key: 'k', at, cost: 1, isTry: false }))
  const { failures, history } = await runPlan(aPlan({ keys, turns, callers: 1, faults }), openStore)
  expect(failures).toEqual([])
  const starts = history.flatMap((event) => (event.type === 'start' ? [event.at] : []))
  const waits = starts.map((at, index) => at - times[index]! * 1_000)
  expect(waits).toHaveLength(4)
  expect(Math.max(...waits)).toBeLessThan(0.3 * SECOND)
})

// The store, and so its worker, says that such a job ended when it started.
test('a job may settle as long as it runs when the clock of Redis was set back meanwhile', async () => {
  const counted = [{ ...keys[0]!, quotas: [{ amount: 27, window: 1_000, unit: 'tokens', each: 2 }] }]
  const settles = { unit: 'tokens', amounts: [8], atOnce: false, after: 2_000, isLate: false }
  const job = { ...aJob('a'), handler: { ...aJob('a').handler, takes: 2_200, settles } }
  const { failures, history } = await runPlan(aPlan({ keys: counted, jobs: [job], faults }), openStore)
  expect(failures).toEqual([])
  expect(history.map(({ type }) => type)).toContain('settle')
})

test('a job whose id was used before ends after its start when the clock of Redis was set back just before', async () => {
  const slow = [{ key: 'k', capacity: 10, rate: { count: 1, per: 1_000 } }]
  const jobs = [
    { ...aJob('a'), at: 100 },
    { ...aJob('b'), at: 13_000 },
    { ...aJob('a'), at: 13_050 },
  ]
  const back = [{ kind: 'step', at: 13_985, by: -11_000, until: 13_985 }] as const
  // Its worker is behind the clock of Redis by half of the difference.
  const way = (least: number) => ({ least, jitter: 1, spikes: 0, spike: 0 })
  const network = { there: way(100), back: way(500), splits: 0 }
  const { failures, history } = await runPlan(
    aPlan({ keys: slow, jobs, network, keepFinished: 0, faults: back }),
    openStore,
  )
  expect(failures).toEqual([])
  expect(history.flatMap((event) => (event.type === 'start' ? [event.id] : []))).toEqual(['a', 'b', 'a'])
})
