import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BackendUnavailableError } from '../../../../src/core/errors.ts'
import { EPOCH, expectEmpty, GateStage } from './gate-stage.ts'

const calls = (stage: GateStage, verb: string) => stage.store.calls.filter((call) => call.startsWith(verb))

describe('one bucket', () => {
  test('starts at its slots, in order, with one slot reserved at a time', async () => {
    const stage = await new GateStage().open()
    const done = stage.take(stage.store.hand('a', 4))
    await stage.pass(1_000)
    expect(stage.ids()).toEqual(['a1', 'a2', 'a3', 'a4'])
    expect(stage.gaps()).toEqual([0, 100, 200, 300])
    expect(calls(stage, 'gate')).toEqual(['gate a1', 'gate a2', 'gate a3', 'gate a4'])
    expect(done).toEqual(['a1', 'a2', 'a3', 'a4'])
    expectEmpty(stage)
  })

  test('a handler that ends within the turn is reported once, with its start', async () => {
    const stage = await new GateStage().open()
    stage.take(stage.store.hand('a', 2))
    await stage.pass(1_000)
    expect(calls(stage, 'start')).toEqual([])
    expect(calls(stage, 'finish')).toEqual(['finish a1', 'finish a2'])
    expect(stage.store.started.map(([id]) => id)).toEqual(['a1', 'a2'])
    expectEmpty(stage)
  })

  test('a start goes out before the gate is asked for the next', async () => {
    const stage = await new GateStage().open()
    stage.runs = 50_000
    stage.take(stage.store.hand('a', 2))
    await stage.pass(1_000)
    const order = stage.store.calls.filter((call) => !call.startsWith('time'))
    expect(order.slice(0, 3)).toEqual(['gate a1', 'start a1', 'gate a2'])
    expectEmpty(stage)
  })

  test('those that come in another order than they were handed over start in that order', async () => {
    const stage = await new GateStage().open()
    // No job waits for its time to ask again when its slot may have come.
    stage.store.askAgainAfter = 700_000
    const [first, second, third] = stage.store.hand('a', 3)
    stage.take([third!, second!, first!])
    await stage.pass(1_000)
    expect(stage.ids()).toEqual(['a1', 'a2', 'a3'])
    expect(stage.gaps()).toEqual([0, 100, 200])
    expectEmpty(stage)
  })

  test('the head of a line that came last asks also where an answer takes longer than it says to wait', async () => {
    const stage = new GateStage()
    stage.store.trip = () => [30_000, 30_000]
    stage.store.askAgainAfter = 25_000
    await stage.open()
    await stage.pass(600)
    stage.store.bucket('a')
    stage.take(stage.store.hand('a', 4).toReversed())
    await stage.pass(3_000)
    expect(stage.ids()).toEqual(['a1', 'a2', 'a3', 'a4'])
    expectEmpty(stage)
  })

  test('several workers keep the order and the spacing between them', async () => {
    const stage = await new GateStage().open(3)
    const jobs = stage.store.hand('a', 9)
    for (const [index, job] of jobs.entries()) stage.take([job], (index * 2) % 3)
    await stage.pass(2_000)
    expect(stage.ids()).toEqual(jobs.map(({ id }) => id))
    expect(stage.gaps()).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800])
    expectEmpty(stage)
  })

  test('what is delivered twice is held once', async () => {
    const stage = await new GateStage().open()
    stage.runs = 500_000
    const [job] = stage.store.hand('a')
    const done = stage.take([job!, job!])
    await stage.pass(100)
    expect([stage.ids(), done, calls(stage, 'gate').length]).toEqual([['a1'], [], 1])
    await stage.pass(500)
    expect(done).toEqual(['a1', 'a1'])
    const late = stage.take([job!])
    await stage.pass(100)
    expect([stage.ids(), late]).toEqual([['a1'], ['a1']])
    expectEmpty(stage)
  })
})

describe('a job that does not pass', () => {
  test('is left alone when it is stale or goes back into its line, and reported when it expired', async () => {
    const stage = await new GateStage().open()
    const [stale, expired, next] = stage.store.hand('a', 3)
    const [returned] = stage.store.hand('frozen')
    stage.store.take(stale!.id)
    stage.store.expiring.add(expired!.id)
    stage.store.bucket('frozen').frozenUntil = stage.store.now() + 60_000_000
    const done = stage.take([stale!, expired!, next!, returned!])
    await stage.pass(200)
    expect([stage.ids(), stage.expired]).toEqual([['a3'], ['a2']])
    expect(done.sort()).toEqual(['a1', 'a2', 'a3', 'frozen1'])
    expectEmpty(stage)
  })

  test('never starts when it was dropped while it waited for its slot', async () => {
    const stage = await new GateStage().open()
    const [first, second] = stage.store.hand('a', 2)
    const done = stage.take([first!, second!])
    await stage.pass(60)
    stage.gates[0]!.drop(second!)
    await stage.pass(500)
    expect([stage.ids(), done]).toEqual([['a1'], ['a1', 'a2']])
    expectEmpty(stage)
  })

  test('a job that cannot be prepared is reported and left to its lease, and holds up no other', async () => {
    const stage = await new GateStage().open()
    const [bad, good] = stage.store.hand('a', 2)
    stage.unreadable.add(bad!.id)
    const done = stage.take([bad!])
    await stage.pass(100)
    expect(stage.errors.splice(0).map(({ message }) => message)).toEqual(['cannot read a1'])
    expect(done).toEqual(['a1'])
    stage.store.take(bad!.id)
    stage.take([good!])
    await stage.pass(200)
    expect(stage.ids()).toEqual(['a2'])
    expectEmpty(stage)
  })
})

describe('handlers', () => {
  test('never run more at a time than there are permits, and a slot is asked for when one is free', async () => {
    const stage = await new GateStage().open(1, 2)
    stage.runs = 300_000
    for (const key of ['a', 'b', 'c', 'd']) stage.take(stage.store.hand(key))
    await stage.pass(50)
    stage.take(stage.store.hand('e'))
    expect(stage.starts).toHaveLength(2)
    await stage.pass(100)
    expect(calls(stage, 'gate').join(' ')).not.toContain('e1')
    await stage.pass(2_000)
    expect(stage.ids().sort()).toEqual(['a1', 'b1', 'c1', 'd1', 'e1'])
    expect(stage.mostRunning).toBe(2)
    expectEmpty(stage)
  })

  test('a bucket that waits uses none, and delays no other', async () => {
    const stage = await new GateStage().open(1, 1)
    stage.store.bucket('slow', 240_000)
    stage.take(stage.store.hand('slow', 2))
    await stage.pass(20)
    expect(stage.ids()).toEqual(['slow1'])
    stage.take(stage.store.hand('fast', 3))
    stage.store.bucket('frozen').frozenUntil = stage.store.now() + 200_000
    stage.take(stage.store.hand('frozen', 1))
    await stage.pass(210)
    expect(stage.ids().slice(0, 3)).toEqual(['slow1', 'fast1', 'fast2'])
    expect(stage.ids().slice(3).sort()).toEqual(['fast3', 'frozen1'])
    await stage.pass(100)
    expect(stage.gates[0]!.missedSlots).toBe(0)
    expect(stage.ids().at(-1)).toBe('slow2')
    expectEmpty(stage)
  })

  test('a job that is far from its new slot puts its permit back until then', async () => {
    const stage = await new GateStage().open(1, 1)
    stage.runs = 60_000
    stage.take(stage.store.hand('a'))
    stage.take(stage.store.hand('b'))
    await stage.pass(30)
    expect(stage.ids()).toEqual(['a1'])
    stage.store.bucket('b').frozenUntil = stage.store.now() + 250_000
    stage.take(stage.store.hand('c'))
    await stage.pass(200)
    expect(stage.ids()).toEqual(['a1', 'c1'])
    await stage.pass(200)
    expect(stage.ids()).toEqual(['a1', 'c1', 'b1'])
    expectEmpty(stage)
  })

  test('a job that waits for one for long goes back into its line, with those behind it', async () => {
    const stage = await new GateStage().open(1, 1)
    stage.runs = 5_000_000
    stage.take(stage.store.hand('a'))
    await stage.pass(20)
    const done = stage.take(stage.store.hand('b', 2))
    await stage.pass(1_500)
    expect(done).toEqual(['b1', 'b2'])
    expect(stage.store.finished.map(([id, { outcome }]) => [id, outcome.kind])).toEqual([
      ['b1', 'back'],
      ['b2', 'back'],
    ])
    await stage.pass(5_000)
    expectEmpty(stage)
  })
})

describe('a slot that is missed', () => {
  test('is asked for anew and moved: no job starts late, and the next keeps its distance', async () => {
    const stage = await new GateStage().open()
    stage.take(stage.store.hand('a', 3))
    await stage.pass(50)
    // The process stands still over the slot of the second.
    stage.stall(150)
    await stage.pass(1_000)
    expect(stage.ids()).toEqual(['a1', 'a2', 'a3'])
    const [, second, third] = stage.gaps()
    expect(second).toBeGreaterThan(150)
    expect(third! - second!).toBeGreaterThanOrEqual(95)
    expect(stage.gates[0]!.missedSlots).toBe(1)
    expect(stage.missed).toEqual(['a2'])
    expectEmpty(stage)
  })

  test('a job that was late keeps its handler and does not lose it to the next slot', async () => {
    const stage = await new GateStage().open(1, 1)
    stage.runs = 30_000
    for (const key of ['a', 'b', 'c']) stage.take(stage.store.hand(key))
    await stage.pass(500)
    expect(stage.ids()).toEqual(['a1', 'b1', 'c1'])
    expect(stage.mostRunning).toBe(1)
    expect(stage.gates[0]!.missedSlots).toBe(2)
    expect(stage.missed).toEqual(['b1', 'c1'])
    expectEmpty(stage)
  })
})

describe("a store's clock that jumps", () => {
  test.each([5_000_000, -5_000_000])('by %i us: no job starts before it was measured anew', async (by) => {
    const stage = await new GateStage().open()
    stage.take(stage.store.hand('a', 2))
    await stage.pass(50)
    stage.store.offset += by
    stage.store.bucket('a').next += by
    stage.take(stage.store.hand('b', 1))
    await stage.pass(1)
    expect(stage.clocks[0]!.isSound).toBe(false)
    const before = stage.starts.length
    await stage.pass(5)
    expect(stage.starts).toHaveLength(before)
    await stage.pass(1_000)
    expect(stage.jumps).toHaveLength(1)
    expect(stage.ids().sort()).toEqual(['a1', 'a2', 'b1'])
    expectEmpty(stage)
  })

  test('a job whose answer shows the jump and says wait asks again when the clock is known', async () => {
    const stage = await new GateStage().open(2)
    const [first, second] = stage.store.hand('a', 2)
    stage.take([second!], 0)
    await stage.pass(2)
    stage.store.offset += 3_600_000_000
    stage.store.bucket('a').next += 3_600_000_000
    await stage.pass(100)
    expect(stage.jumps.length).toBeGreaterThan(0)
    stage.take([first!], 1)
    await stage.pass(2_000)
    expect(stage.ids()).toEqual(['a1', 'a2'])
    expectEmpty(stage)
  })
})

test("while the store's buckets were not made to wait after a jump no job starts", async () => {
  const stage = await new GateStage().open()
  stage.canQuarantine = false
  stage.take(stage.store.hand('a', 2))
  await stage.pass(50)
  stage.store.offset += 300_000
  stage.take(stage.store.hand('b', 1))
  await stage.pass(1_000)
  const asked = calls(stage, 'gate').length
  await stage.pass(5_000)
  expect([stage.ids(), calls(stage, 'gate').length]).toEqual([['a1'], asked])
  stage.canQuarantine = true
  await stage.pass(500)
  expect(stage.ids().sort()).toEqual(['a1', 'a2', 'b1'])
  expectEmpty(stage)
})

describe('close', () => {
  test('gives back jobs that have not started, also with a slot, waits for none, and takes no more', async () => {
    const stage = await new GateStage().open()
    stage.runs = 60_000_000
    stage.take(stage.store.hand('a', 3))
    await stage.pass(50)
    const closed = stage.gates[0]!.close()
    const [late] = stage.store.hand('b', 1)
    const done = stage.take([late!])
    await stage.pass(10)
    await closed
    expect(stage.ids()).toEqual(['a1'])
    expect(done).toEqual(['b1'])
    const back = stage.store.finished.filter(([, { outcome }]) => outcome.kind === 'back')
    expect(back.map(([id]) => id).sort()).toEqual(['a2', 'a3', 'b1'])
    await stage.pass(61_000)
    expectEmpty(stage)
  })

  test('gives back a job whose slot it has not heard of as soon as a broken connection is made anew', async () => {
    const stage = await new GateStage().open()
    const { store } = stage
    const finish = store.finish.bind(store)
    let refused = 0
    store.finish = (...report) => {
      if (++refused > 2) return finish(...report)
      return Promise.reject(new BackendUnavailableError('not connected'))
    }
    stage.take(store.hand('a', 1))
    const closed = stage.gates[0]!.close()
    await stage.pass(1_000)
    expect(refused).toBe(3)
    await closed
    expect(stage.starts).toEqual([])
    expect(stage.store.finished.map(([id, { outcome }]) => [id, outcome.kind])).toEqual([['a1', 'back']])
    stage.errors.length = 0
    expectEmpty(stage)
  })

  test('with the store away it ends all the same', async () => {
    const stage = await new GateStage().open()
    stage.take(stage.store.hand('a', 3))
    stage.store.isDown = true
    const closed = stage.gates[0]!.close()
    await stage.pass(3_100)
    await closed
    expect(stage.starts).toEqual([])
    stage.errors.length = 0
    expectEmpty(stage)
  })
})

test('a clock that errs within what the spacing allows for starts nothing before the end of a freeze', async () => {
  const stage = new GateStage()
  // The estimate is ahead of the store by 150 us.
  stage.store.trip = () => [400, 100]
  await stage.open()
  const frozenUntil = stage.store.now() + 200_000
  stage.store.bucket('a').frozenUntil = frozenUntil
  stage.take(stage.store.hand('a', 1))
  await stage.pass(300)
  expect(stage.store.started.map(([id]) => id)).toEqual(['a1'])
  expect(stage.starts[0]!.at + EPOCH).toBeGreaterThanOrEqual(frozenUntil)
  expectEmpty(stage)
})

describe('whatever the network and the process do', () => {
  test.each([
    ['no start is earlier than tolerated', 5_000],
    ['under a tolerance smaller than the errors of the clocks no start is earlier either', 400],
    ['with no tolerance no start is early at all', 0],
  ])('%s, the order is kept, and each job starts once', async (_, tolerance) => {
    const trip = fc.tuple(fc.integer({ min: 100, max: 9_000 }), fc.integer({ min: 100, max: 9_000 }))
    const stalls = fc.array(fc.tuple(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 0, max: 60 })), {
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(
        fc.infiniteStream(trip),
        stalls,
        fc.integer({ min: 1, max: 6 }),
        async (trips, pauses, permits) => {
          const stage = new GateStage()
          stage.store.trip = () => trips.next().value
          await stage.open(2, permits)
          await stage.pass(300)
          stage.runs = 7_000
          for (const key of ['a', 'b', 'c']) {
            stage.store.bucket(key, 20_000, tolerance)
            for (const [index, job] of stage.store.hand(key, 8).entries()) stage.take([job], index % 2)
          }
          for (const [ms, still] of pauses) {
            await stage.pass(ms)
            stage.stall(still)
          }
          await stage.pass(5_000)
          for (const key of ['a', 'b', 'c']) {
            const starts = stage.starts.filter((start) => start.key === key)
            expect(starts.map(({ id }) => id)).toEqual(Array.from({ length: 8 }, (_, n) => `${key}${n + 1}`))
            for (const [index, { at }] of starts.entries()) {
              const before = starts[index - 1]
              if (before === undefined) continue
              expect(at - before.at).toBeGreaterThanOrEqual(20_000 - tolerance - 1)
            }
          }
          expect(stage.mostRunning).toBeLessThanOrEqual(2 * permits)
          expectEmpty(stage)
        },
      ),
      { numRuns: 40 },
    )
  })
})
