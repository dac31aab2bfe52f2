import { expect, test } from 'vitest'
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

test('what a caller had asked for that was killed last is looked up before the run ends', async () => {
  const plan = drawPlan(30005441)
  expect(plan.faults).toContainEqual(expect.objectContaining({ kind: 'kill', part: 'caller-1' }))
  const { failures } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
})
