import { describe, expect, test } from 'vitest'
import { expectEmpty, GateStage } from './gate-stage.ts'

const calls = (stage: GateStage, verb: string) => stage.store.calls.filter((call) => call.startsWith(verb))

/** A bucket with an interval in milliseconds: one job was handed over, and others wait. */
async function fast(waiting: number, interval = 5, part: { workers?: number; concurrency?: number } = {}) {
  const stage = await new GateStage().open(part.workers ?? 1, part.concurrency ?? 100)
  stage.store.bucket('a', interval * 1_000, 1_250)
  stage.store.lineUp('a', 0)
  const first = stage.store.hand('a', 1)
  stage.store.lineUp('a', waiting)
  return { stage, first }
}

const names = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `a${from + at}`)

describe('the jobs of a fast bucket', () => {
  test('start in order at its rate, however long the store takes, and only the first asks for a slot', async () => {
    const { stage, first } = await fast(60)
    stage.store.trip = () => [5_000, 5_000]
    await stage.pass(100)
    const done = stage.take(first)
    await stage.pass(1_000)
    expect(stage.ids()).toEqual(names(1, 61))
    // The second is not known before the store has answered.
    for (const [index, { at, id }] of stage.starts.slice(2).entries()) {
      const gap = at - stage.starts[index + 1]!.at
      expect(gap, id).toBeGreaterThanOrEqual(5_000)
      expect(gap, id).toBeLessThan(5_010)
    }
    expect(calls(stage, 'gate')).toEqual(['gate a1'])
    // Half of a run is asked for while the other half starts.
    expect(calls(stage, 'follow').length).toBeLessThanOrEqual(12)
    expect(done).toEqual(['a1'])
    await stage.pass(1_000)
    expectEmpty(stage)
  })

  test('of several buckets are asked for in one call, before the ends of those that started are reported', async () => {
    const stage = await new GateStage().open(1, 100)
    const keys = ['a', 'b', 'c']
    const handed = keys.map((key) => {
      stage.store.bucket(key, 5_000, 1_250)
      stage.store.lineUp(key, 0)
      const first = stage.store.hand(key, 1)
      stage.store.lineUp(key, 3)
      return first
    })
    stage.take(handed.flat())
    await stage.pass(1_000)
    expect(stage.starts).toHaveLength(12)
    const of = (verb: string) => stage.store.calls.filter((call) => call.startsWith(verb))
    expect(of('follow')[0]).toBe('follow a 49 b 49 c 49')
    expect(of('gate')).toEqual(['gate a1 b1 c1'])
    expectEmpty(stage)
  })

  test('a late start moves those behind it, and they ask for their slots', async () => {
    const { stage, first } = await fast(9)
    stage.take(first)
    await stage.pass(14)
    expect(stage.ids()).toEqual(names(1, 3))
    stage.stall(300)
    await stage.pass(1)
    stage.stall(300)
    await stage.pass(1_000)
    expect(stage.ids()).toEqual(names(1, 10))
    const gaps = stage.starts.slice(1).map(({ at }, index) => at - stage.starts[index]!.at)
    expect(Math.min(...gaps)).toBeGreaterThan(3_700)
    await stage.pass(1_000)
    expectEmpty(stage)
  })

  test('keep the rate again after a halt on a slow way: those that are too late ask for their slots, and no more come until then', async () => {
    const { stage, first } = await fast(999)
    stage.store.trip = () => [10_000, 10_000]
    stage.take(first)
    await stage.pass(1_000)
    expect(calls(stage, 'gate')).toEqual(['gate a1'])
    stage.stall(400)
    await stage.pass(1_500)
    const asked = calls(stage, 'gate').length
    expect(asked).toBeGreaterThan(10)
    const from = stage.starts.length
    await stage.pass(1_000)
    expect(stage.starts.length - from).toBeGreaterThan(190)
    expect(calls(stage, 'gate')).toHaveLength(asked)
  })

  test('within the tolerance lateness does not move the grid', async () => {
    const { stage, first } = await fast(20)
    stage.take(first)
    for (let step = 0; step < 30; step++) {
      await stage.pass(4)
      stage.stall(0.1)
    }
    await stage.pass(1_000)
    expect(stage.starts).toHaveLength(21)
    const lateness = stage.starts.map(({ at }, index) => at - index * 5_000)
    expect(Math.max(...lateness) - Math.min(...lateness)).toBeLessThan(1_250)
    expect(calls(stage, 'gate')).toHaveLength(1)
  })

  test('are told to stop with the report of a start: the next one but that on its way asks for its slot', async () => {
    const { stage, first } = await fast(9)
    stage.runs = 50_000
    stage.take(first)
    await stage.pass(11)
    stage.store.stopsRuns = true
    await stage.pass(500)
    expect(stage.ids()).toEqual(names(1, 10))
    expect(calls(stage, 'gate').length).toBeGreaterThanOrEqual(4)
  })

  test('under a limit that became slow each asks for its slot', async () => {
    const { stage, first } = await fast(9)
    stage.take(first)
    await stage.pass(11)
    const ahead = stage.ids().length
    const bucket = stage.store.bucket('a')
    bucket.next += 95_000
    bucket.interval = 100_000
    stage.store.stopsRuns = true
    stage.gates[0]!.stopRun('a')
    await stage.pass(2_000)
    expect(stage.ids()).toEqual(names(1, 10))
    const slow = stage.starts.slice(ahead)
    const gaps = slow.slice(1).map(({ at }, index) => at - slow[index]!.at)
    expect(Math.min(...gaps)).toBeGreaterThan(98_000)
  })

  test.each([
    ['slower', 4, 8],
    ['faster', 8, 4],
  ])('follow a limit that became %s from the next answer on', async (_, before, after) => {
    const { stage, first } = await fast(200, before)
    void stage.take(first)
    await stage.pass(200)
    stage.store.bucket('a').interval = after * 1_000
    await stage.pass(200)
    const from = stage.starts.length
    await stage.pass(400)
    const gaps = stage.starts.slice(from + 1).map(({ at }, index) => at - stage.starts[from + index]!.at)
    expect(gaps.length).toBeGreaterThan(40)
    // Within the tolerance of the store.
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(after * 1_000 - 1_250)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(after * 1_000 + 1_250)
    expect(calls(stage, 'gate')).toEqual(['gate a1'])
  })

  test('where the store is away nothing that it did not give starts, and what it gave and lost the answer of is asked for again', async () => {
    const { stage, first } = await fast(9)
    stage.take(first)
    // The answer of the gate has come, and that of what follows is on its way.
    await stage.pass(1.2)
    stage.store.losesReplies = true
    await stage.pass(3_000)
    expect(stage.ids()).toEqual(['a1'])
    stage.store.losesReplies = false
    await stage.pass(5_000)
    expect(stage.ids()).toEqual(names(1, 10))
    expect(calls(stage, 'follow').length).toBeGreaterThan(1)
    await stage.pass(1_000)
    stage.errors.length = 0
    expectEmpty(stage)
  })

  test('no more are taken than handlers are free', async () => {
    const { stage, first } = await fast(9, 5, { concurrency: 3 })
    stage.runs = 100_000
    stage.take(first)
    await stage.pass(90)
    expect(stage.ids()).toEqual(names(1, 3))
    expect(stage.store.bucket('a').line).toHaveLength(7)
  })

  test('a lost lease of one ends the run: those behind it do not start before it', async () => {
    const { stage, first } = await fast(9)
    stage.take(first)
    await stage.pass(7)
    const ahead = stage.ids().length
    const next = `a${ahead + 1}`
    const { epoch } = stage.store.jobs.get(next)!
    stage.gates[0]!.drop({ id: next, epoch, key: 'a', shard: 0 })
    await stage.pass(100)
    // The store still has it as the first of the line.
    expect(stage.ids()).toEqual(names(1, ahead))
    stage.store.take(next)
    await stage.pass(1_000)
    expect(stage.ids()).toEqual([...names(1, ahead), ...names(ahead + 2, 10)])
  })

  test('a gate that closes gives back what has not started', async () => {
    const { stage, first } = await fast(9)
    stage.take(first)
    await stage.pass(7)
    const ahead = stage.ids().length
    await Promise.all([stage.gates[0]!.close(), stage.pass(2_000)])
    expect(stage.ids()).toEqual(names(1, ahead))
    const back = stage.store.finished.filter(([, { outcome }]) => outcome.kind === 'back').map(([id]) => id)
    expect(back).toEqual(names(ahead + 1, 10))
    expectEmpty(stage)
  })

  test('a clock of the store that is moved ends the run', async () => {
    const { stage, first } = await fast(9)
    stage.take(first)
    await stage.pass(7)
    stage.store.offset += 30_000_000
    // Until it is seen, the local clock times the starts.
    await stage.pass(5_000)
    expect(stage.ids()).toEqual(names(1, 10))
    expect(calls(stage, 'gate').length).toBeGreaterThan(1)
    const gaps = stage.starts.slice(1).map(({ at }, index) => at - stage.starts[index]!.at)
    expect(Math.min(...gaps)).toBeGreaterThan(3_700)
  })
})
