import { expect, test } from 'vitest'
import { expectEmpty, GateStage } from './gate-stage.ts'

const MIB = 1_048_576
const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`

/** Keys with one job each; data above 1 KiB are large. */
async function stageWith(sizes: Readonly<Record<string, number>>) {
  const stage = await new GateStage().open()
  stage.store.large = 1_024
  const jobs = Object.entries(sizes).flatMap(([key, bytes]) =>
    stage.store.hand(key, 1, { data: text(bytes) }),
  )
  return { stage, jobs, calls: (verb: string) => stage.store.calls.filter((call) => call.startsWith(verb)) }
}

test('large data are fetched before a slot is reserved, small ones come with it', async () => {
  const { stage, jobs, calls } = await stageWith({ a: 2_000, b: 100 })
  stage.take(jobs)
  await stage.pass(50)
  expect(stage.ids().toSorted()).toEqual(['a1', 'b1'])
  expect(calls('fetch')).toEqual(['fetch a1'])
  expect(stage.store.calls.filter((call) => /^(gate|fetch).*a1/.test(call))).toEqual([
    'gate a1 b1',
    'fetch a1',
    'gate a1',
  ])
  expectEmpty(stage)
})

test('jobs at the gate hold 16 MiB of data at most, and all of them start', async () => {
  const sizes = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`k${n}`, MIB]))
  const { stage, jobs, calls } = await stageWith(sizes)
  // Slots that are far away: each waits with its data.
  for (const { key } of jobs) stage.store.bucket(key).frozenUntil = stage.store.now() + 240_000
  stage.take(jobs)
  await stage.pass(200)
  expect(calls('fetch')).toHaveLength(16)
  await stage.pass(900)
  expect(stage.ids()).toHaveLength(30)
  expectEmpty(stage)
})

test('a call fetches 1 MiB at most, or the data of one job, and only one is under way', async () => {
  const { stage, jobs, calls } = await stageWith({ a: MIB / 2, b: MIB / 2, c: MIB / 2, d: 3 * MIB, e: 2_000 })
  stage.take(jobs)
  await stage.pass(300)
  expect(calls('fetch')).toEqual(['fetch a1 b1', 'fetch c1', 'fetch d1', 'fetch e1'])
  expect(stage.ids()).toHaveLength(5)
  expectEmpty(stage)
})

test('small jobs of other keys do not wait for large data', async () => {
  const { stage, jobs } = await stageWith({ a: 5 * MIB, b: 5 * MIB, c: 5 * MIB, d: 5 * MIB })
  let fetched = 0
  stage.store.trip = () => [stage.store.calls.at(-1)!.startsWith('fetch') ? ++fetched * 500_000 : 500, 500]
  stage.take(jobs)
  await stage.pass(5)
  stage.take(stage.store.hand('calm'))
  await stage.pass(20)
  expect(stage.ids()).toEqual(['calm1'])
  await stage.pass(6_000)
  expect(stage.ids()).toHaveLength(5)
  expectEmpty(stage)
})

test('a fetch that fails is tried again', async () => {
  const { stage, jobs, calls } = await stageWith({ a: 2_000 })
  stage.take(jobs)
  stage.store.trip = () => [5_000, 5_000]
  await stage.pass(12)
  expect(calls('fetch')).toHaveLength(1)
  stage.store.losesReplies = true
  await stage.pass(2_000)
  stage.store.losesReplies = false
  await stage.pass(3_000)
  expect(stage.ids()).toEqual(['a1'])
  expect(calls('fetch').length).toBeGreaterThan(1)
  for (const gate of stage.gates) expect(gate.waiting).toBe(0)
  stage.stop()
})

test('a job that becomes another worker’s while its data are fetched does not start', async () => {
  const { stage, jobs } = await stageWith({ a: 2_000 })
  const done = stage.take(jobs)
  stage.store.trip = () => [5_000, 5_000]
  await stage.pass(12)
  stage.store.take('a1')
  await stage.pass(50)
  expect([stage.ids(), done]).toEqual([[], ['a1']])
  expectEmpty(stage)
})

test('data that cannot be read are reported, and room is made for others', async () => {
  const { stage, jobs } = await stageWith({ a: 20 * MIB })
  Object.assign(stage.store.jobs.get('a1')!, { data: 'x'.repeat(20 * MIB) })
  stage.take(jobs)
  stage.take(stage.store.hand('b', 1, { data: text(20 * MIB) }))
  await stage.pass(100)
  expect(stage.ids()).toEqual(['b1'])
  expect(stage.errors).toMatchObject([{ name: 'SyntaxError' }])
  stage.stop()
})
