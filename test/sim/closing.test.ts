import { expect, test } from 'vitest'
import { aPlan } from './judge/planted.ts'
import { openStore } from './open-store.ts'
import { drawPlan } from './plan/draw.ts'
import { runPlan } from './run-plan.ts'

test('a worker leaves nothing behind when it closes soon after Redis refused a look for stalled deliveries', async () => {
  // Redis refuses writes when BullMQ looks, five seconds after the begin, and three seconds later all is done.
  const plan = drawPlan(637)
  expect(plan.faults).toContainEqual(expect.objectContaining({ kind: 'refusal', says: 'NOREPLICAS' }))
  const { failures } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
})

test('a worker that closes while Redis refuses writes is known to be unheard, although another has taken its part', async () => {
  const plan = drawPlan(30_004_201)
  expect(plan.faults).toContainEqual(expect.objectContaining({ kind: 'refusal', says: 'READONLY' }))
  expect(plan.faults).toContainEqual(expect.objectContaining({ kind: 'close', part: 'worker-1' }))
  const { failures } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
})

test('a turn that was asked for is waited for, although the closed caller that another has replaced asks for it, too', async () => {
  const turn = { caller: 1, key: 'k', at: 382, cost: 1, isTry: false }
  const faults = [
    { kind: 'close', part: 'caller-1', at: 309, back: 60, until: 369 },
    // The caller cannot ask before it has connected.
    { kind: 'refuse', part: 'all', at: 322, for: 426, until: 748 },
  ] as const
  const { failures, history } = await runPlan(aPlan({ turns: [turn], callers: 1, faults }), openStore)
  expect(failures).toEqual([])
  expect(history.at(-1)).toMatchObject({ type: 'audit', admitted: 1, ended: 1 })
})

test('a turn ends, the answer is lost, and the clock of Redis is set forward by more than it knows turns that have ended', async () => {
  const turns = [14, 28, 29, 31].map((at) => ({ caller: 1, key: 'k', at, cost: 1, isTry: false }))
  const way = { least: 245, jitter: 23, spikes: 0.05, spike: 22_000 }
  const faults = [
    { kind: 'step', at: 55.5, by: 11_637, until: 55.5 },
    { kind: 'refuse', part: 'caller-1', at: 59.3, for: 7, until: 66.3 },
  ] as const
  const plan = aPlan({
    keys: [{ key: 'k', capacity: 129, rate: { count: 618, per: 7_000 } }],
    network: { there: { ...way, spikes: 0 }, back: way, splits: 0.05 },
    turns,
    callers: 1,
    faults,
  })
  const tellers = new Set<string>()
  for (let seed = 1; seed <= 120; seed++) {
    const { failures, scene } = await runPlan({ ...plan, seed }, openStore)
    expect(failures, `seed ${seed}`).toEqual([])
    for (const { event, by } of scene.record.seen) if (event.type === 'end') tellers.add(by)
  }
  expect([...tellers].sort()).toEqual(['caller-1', 'fate'])
})
