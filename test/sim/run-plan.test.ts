import { expect, test } from 'vitest'
import { aJob, aPlan } from './judge/planted.ts'
import { openStore } from './open-store.ts'
import { drawPlan } from './plan/draw.ts'
import { runPlan } from './run-plan.ts'

const plan = aPlan({ jobs: [aJob('a')] })

test('a run that is cut off is red', async () => {
  const { failures, isUndecided } = await runPlan(plan, openStore, { mostEvents: 60 })
  expect(failures.map(({ law }) => law)).toContain('rest')
  expect(failures.map(({ message }) => message).join()).toContain('not over after 60 events')
  expect(isUndecided).toBe(true)
})

test('the same run is green when it can end', async () => {
  const { failures, isUndecided } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  expect(isUndecided).toBe(false)
})

const forgetful = { kind: 'restart', at: 200, down: 100, keeps: { butLast: 400 }, until: 300 } as const
const slower = { do: 'limit', at: 50, key: 'k', capacity: 4_000, rate: { count: 10, per: 1_000 } } as const
const large = [{ key: 'k', capacity: 10_000, rate: { count: 300, per: 1_000 } }]

test('a run waits for a bucket that has lost all, and whose limit is much lower by then', async () => {
  const jobs = [{ ...aJob('a'), at: 400 }]
  const lost = aPlan({ keys: large, jobs, actions: [slower], faults: [forgetful] })
  const { failures, history, lasted } = await runPlan(lost, openStore)
  expect(failures).toEqual([])
  expect(history).toContainEqual(expect.objectContaining({ type: 'end', id: 'a', outcome: 'completed' }))
  // Such a bucket waits as after a job of its whole capacity.
  expect(lasted).toBeGreaterThan(400_000_000)
})

test('a run whose job never starts is red, also after such a loss', async () => {
  const workers = [{ at: 0, concurrency: 100, lease: 10_000, scheduler: false }]
  const jobs = [{ ...aJob('a'), at: 400 }]
  const lost = aPlan({ jobs, workers, actions: [{ ...slower, capacity: 100 }], faults: [forgetful] })
  const { failures } = await runPlan(lost, openStore)
  expect(failures.map(({ law }) => law)).toContain('rest')
})

test.each(['READONLY', 'NOREPLICAS', 'LOADING'] as const)(
  'a server that answers %s refuses, and work goes on after',
  async (says) => {
    const faults = [{ kind: 'refusal', at: 400, for: 3_000, says, until: 3_400 }] as const
    const jobs = [aJob('a'), { ...aJob('b'), at: 500 }]
    const { failures, scene, history } = await runPlan(aPlan({ jobs, faults }), openStore)
    expect(failures).toEqual([])
    expect(scene.record.unavailable.length).toBeGreaterThan(0)
    const ended = history.flatMap((event) => (event.type === 'end' ? [[event.id, event.outcome]] : []))
    expect(ended).toContainEqual(['b', 'completed'])
    const started = history.find((event) => event.type === 'start' && event.id === 'b')!
    expect(started.at).toBeGreaterThan(3_400_000)
  },
)

test.each([
  [1, 2, 'completed'],
  [3, 3, 'failed'],
] as const)(
  'a job that ends its process %s times starts %s times, and is %s',
  async (exits, starts, outcome) => {
    const poison = { ...aJob('a'), handler: { ...aJob('a').handler, exits } }
    const workers = [{ at: 0, concurrency: 100, lease: 1_000, scheduler: true }]
    const { failures, history } = await runPlan(aPlan({ jobs: [poison, aJob('b')], workers }), openStore)
    expect(failures).toEqual([])
    expect(history.filter((event) => event.type === 'start' && event.id === 'a')).toHaveLength(starts)
    expect(history).toContainEqual(expect.objectContaining({ type: 'end', id: 'a', outcome }))
    expect(history).toContainEqual(expect.objectContaining({ type: 'end', id: 'b', outcome: 'completed' }))
  },
)

/** Answers of Redis do not arrive for two seconds, or for `lasts` milliseconds. */
function unheard(at: number, lasts = 1_968) {
  return [
    { kind: 'hold', part: 'all', when: { at }, for: lasts, direction: 'back', until: at + lasts },
  ] as const
}

test('a job that was refused is accepted by a request whose answer is lost', async () => {
  const keys = [{ key: 'k', capacity: 1, rate: { count: 8, per: 1_000 } }]
  const jobs = [aJob('a'), { ...aJob('b'), at: 20 }, { ...aJob('c'), at: 30, comesBack: 5 }]
  const { failures, history } = await runPlan(aPlan({ keys, jobs, faults: unheard(100) }), openStore)
  expect(failures).toEqual([])
  const answers = history.flatMap((event) => (event.type === 'answer' ? [[event.id, event.accepted]] : []))
  expect(answers).toContainEqual(['c', false])
  expect(answers).toContainEqual(['c', true])
})

test('a job that is asked for again, long after it ended, is waited for as the first time', async () => {
  const slow = { least: 150_000, jitter: 10, spikes: 0, spike: 0 }
  const plan = aPlan({
    jobs: [aJob('a'), { ...aJob('a'), at: 25_000 }],
    network: { there: slow, back: slow, splits: 0 },
    keepFinished: 0,
  })
  const { failures, history } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  expect(history.filter((event) => event.type === 'end')).toHaveLength(2)
  expect(history.findLast((event) => event.type === 'audit')).toMatchObject({ admitted: 2, ended: 2 })
})

test('a limit that was set by a call whose answer is lost counts from that call on', async () => {
  const limit = { do: 'limit', at: 200, key: 'k', capacity: 10, rate: { count: 20, per: 1_000 } } as const
  const plan = aPlan({ jobs: [{ ...aJob('a'), at: 150 }], actions: [limit], faults: unheard(199.5) })
  const { failures, history } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  const limits = history.filter((event) => event.type === 'limit')
  expect(limits).toMatchObject([{ at: 0 }, { limit: { interval: 50_000 } }])
})

test('a freeze that was lifted by a call whose answer is lost is over', async () => {
  const unfreeze = { do: 'unfreeze', at: 200, key: 'k' } as const
  const first = { ...aJob('a'), handler: { ...aJob('a').handler, freezes: 6_000 } }
  const plan = aPlan({
    jobs: [first, { ...aJob('b'), at: 3_500 }],
    actions: [unfreeze],
    faults: unheard(199.5),
  })
  const { failures, history } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  const ofB = history.find((event) => event.type === 'start' && event.id === 'b')!
  expect(ofB.at).toBeLessThan(5_000_000)
  expect(history.filter(({ type }) => type === 'freeze' || type === 'unfreeze')).toMatchObject([
    { type: 'freeze' },
    { type: 'unfreeze' },
  ])
})

test('what a process would have done after it had been stopped does not count where it is killed meanwhile', async () => {
  const plan = drawPlan(31_000_487)
  expect(plan.faults.map(({ kind }) => kind).sort()).toEqual(['kill', 'stop'])
  const { failures, history } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  expect(
    history.filter(({ type, ...event }) => type === 'start' && 'id' in event && event.id === 'j0'),
  ).toHaveLength(1)
})

test('a turn of which no process heard, neither that it was admitted nor that it was given up, is counted', async () => {
  const turn = { caller: 1, key: 'k', at: 20, cost: 1, isTry: false }
  const plan = aPlan({ turns: [turn, { ...turn, at: 110, aborts: 5 }], callers: 1, faults: unheard(100) })
  const { failures, history } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  const ends = history.flatMap((event) => (event.type === 'end' ? [event.outcome] : []))
  expect(ends).toEqual(['completed', 'cancelled'])
  expect(history.at(-1)).toMatchObject({ type: 'audit', admitted: 2, ended: 2 })
})

test('a turn that was given up unheard, and that the store has forgotten when it is heard again, is counted', async () => {
  const turn = { caller: 1, key: 'k', at: 20, cost: 1, isTry: false }
  // Behind the second turn: it overtakes that where the turn has no end.
  const jobs = [{ ...aJob('a'), at: 60 }]
  const turns = [turn, { ...turn, at: 40, timeout: 900 }]
  const keys = [{ key: 'k', capacity: 10, rate: { count: 2, per: 1_000 } }]
  const plan = aPlan({ hasScripts: true, keys, turns, jobs, callers: 1, faults: unheard(100, 12_000) })
  const { failures, history } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  const ends = history.flatMap((event) => (event.type === 'end' ? [event.outcome] : []))
  expect(ends).toEqual(['completed', 'cancelled', 'completed'])
  expect(history.at(-1)).toMatchObject({ type: 'audit', admitted: 3, ended: 3 })
})

test('a turn that came, and whose end no process heard of before the store forgot it, is counted', async () => {
  const turn = { caller: 1, key: 'k', at: 20, cost: 1, isTry: false }
  // The end reaches the store; the answer and the caller are lost, which is killed once the store has forgotten the turn.
  const faults = [
    { kind: 'hold', part: 'caller-1', when: { at: 22.3 }, for: 12_000, direction: 'back', until: 12_022.3 },
    { kind: 'kill', part: 'caller-1', when: { at: 11_500 }, how: 'process', until: 11_500 },
  ] as const
  const { failures, history } = await runPlan(
    aPlan({ hasScripts: true, turns: [turn], callers: 1, faults }),
    openStore,
  )
  expect(failures).toEqual([])
  expect(history.flatMap((event) => (event.type === 'end' ? [event.outcome] : []))).toEqual(['completed'])
})

test.each([1_000, 30_000])(
  'a turn that was given up while the server stood still, and whose clock was set back, is counted %s ms later',
  async (later) => {
    const stall = { kind: 'stall', at: 100, for: 8_000, until: 8_100 } as const
    // The request would come too late otherwise.
    const step = { kind: 'step', at: 500, by: -60_000, until: 500 } as const
    const turn = { caller: 1, key: 'k', at: 20, cost: 1, isTry: false }
    const turns = [turn, { ...turn, at: 110, aborts: 5 }, { ...turn, at: stall.until + later }]
    // Both what asks for the turn and what gives it up wait in the server: no process hears of it.
    const plan = aPlan({ hasScripts: true, turns, callers: 1, faults: [stall, step] })
    const { failures, history } = await runPlan(plan, openStore)
    expect(failures).toEqual([])
    const ends = history.flatMap((event) => (event.type === 'end' ? [event.outcome] : []))
    expect(ends).toEqual(['completed', 'cancelled', 'completed'])
    expect(history.at(-1)).toMatchObject({ type: 'audit', admitted: 3, ended: 3 })
  },
)

test('jobs that find no handler while Redis is away go back in their order once it is there again', async () => {
  const plan = drawPlan(100_000_986)
  expect(plan.workers).toMatchObject([{ concurrency: 1 }])
  expect(plan.faults).toContainEqual(expect.objectContaining({ kind: 'refuse', part: 'all', for: 7_216 }))
  const { failures, scene } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  // One had its slot, but the only handler was taken: it has not started.
  expect(scene.record.recovered.filter(({ mayHaveStarted }) => mayHaveStarted)).toEqual([])
})
