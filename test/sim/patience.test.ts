import { expect, test } from 'vitest'
import { aJob, aPlan, ways } from './judge/planted.ts'
import { openStore } from './open-store.ts'
import type { Fault } from './plan/fault.ts'
import { runPlan } from './run-plan.ts'

test('what is asked for while a shaper opens may take longer than two seconds, while Redis answers', async () => {
  const jobs = Array.from({ length: 200 }, (_, n) => ({ ...aJob(`j${n}`), at: n / 10, bytes: 900_000 }))
  const { failures, scene, history } = await runPlan(aPlan({ jobs, network: ways(25) }), openStore)
  expect(scene.record.unavailable).toEqual([])
  expect(failures).toEqual([])
  const answered = history.findLast(({ type }) => type === 'answer')
  expect(answered!.at).toBeGreaterThan(2_000_000)
})

test('a call that has waited for others fails within two seconds after these were answered', async () => {
  const jobs = Array.from({ length: 40 }, (_, n) => ({ ...aJob(`j${n}`), at: n < 1 ? 0 : 400 + n * 10 }))
  const faults: Fault[] = [
    { kind: 'hold', part: 'producer-1', when: { at: 390 }, for: 1_300, direction: 'back', until: 1_690 },
    { kind: 'hold', part: 'producer-1', when: { at: 700 }, for: 4_000, direction: 'there', until: 4_700 },
  ]
  const { failures, scene } = await runPlan(aPlan({ jobs, faults, hasScripts: true }), openStore)
  expect(scene.record.unavailable.length).toBeGreaterThan(10)
  expect(failures).toEqual([])
})

test('a call that waits for a slow opening fails within two seconds after that was answered', async () => {
  const fault: Fault = {
    kind: 'hold',
    part: 'all',
    when: { at: 1_300 },
    for: 8_000,
    direction: 'both',
    until: 9_300,
  }
  const jobs = [{ ...aJob('j0'), at: 10 }]
  const { failures, scene } = await runPlan(
    aPlan({ jobs, faults: [fault], network: ways(45), hasScripts: true }),
    openStore,
  )
  const [first] = scene.record.unavailable
  expect(first!.at).toBeGreaterThan(500_000)
  expect(failures).toEqual([])
})
