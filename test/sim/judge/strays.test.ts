import { expect, test } from 'vitest'
import type { Silence, Struck } from '../actors/faults.ts'
import type { Seen } from '../actors/recorder.ts'
import { payloadOf } from '../actors/scene.ts'
import { stoodStill } from './errors.ts'
import { judgeFences } from './fences.ts'
import { leftOf } from './inspect.ts'
import { endedTwice, neverStarted, withoutRepetition } from './judge.ts'
import { accepted, SECOND } from './planted.ts'
import { judgeGivenUp, judgeStrayEnds } from './strays.ts'

function ran(by: string, id: string, from: number, until: number): Seen[] {
  return [
    { by, event: { type: 'start', at: from * SECOND, id, key: 'k', cost: 1, attempt: 1 } },
    { by, event: { type: 'end', at: until * SECOND, id, outcome: 'completed' } },
  ]
}

test('a worker that ran an earlier job of the same id must not end the later one', () => {
  const first = [accepted('a', 1), ...ran('worker-1', 'a', 2, 3)]
  expect(judgeStrayEnds([...first, accepted('a', 20), ...ran('worker-2', 'a', 21, 25)])).toEqual([])
  const stray: Seen = {
    by: 'worker-1',
    event: { type: 'end', at: 22 * SECOND, id: 'a', outcome: 'completed' },
  }
  const second = [accepted('a', 20), ...ran('worker-2', 'a', 21, 25).slice(0, 1)]
  expect(judgeStrayEnds([...first, ...second, stray]).map(({ law }) => law)).toEqual(['L5'])
})

test('a request whose caller got an error must not be admitted long after it was made', () => {
  const asked = [{ id: 'a', at: 10 * SECOND }]
  expect(judgeGivenUp(asked, [])).toEqual([])
  expect(judgeGivenUp(asked, [accepted('a', 11.5), accepted('b', 20)])).toEqual([])
  expect(judgeGivenUp(asked, [accepted('a', 14)]).map(({ law }) => law)).toEqual(['L8'])
})

test('fences grow strictly for each key, in the order of the first statements', () => {
  const fence = (at: number, key: string, id: string, value: number) => ({ at, key, id, fence: value })
  expect(judgeFences([fence(1, 'k', 'a', 5), fence(2, 'other', 'x', 1), fence(3, 'k', 'b', 6)])).toEqual([])
  expect(judgeFences([fence(1, 'k', 'a', 5), fence(3, 'k', 'b', 5)])).toHaveLength(1)
  expect(judgeFences([fence(1, 'k', 'a', 5), fence(3, 'k', 'b', 4), fence(4, 'k', 'c', 5)])).toHaveLength(2)
  expect(judgeFences([fence(3, 'k', 'a', 5), fence(1, 'k', 'b', 6)])).toHaveLength(1)
  expect(judgeFences([fence(1, 'k', 'a', Number.NaN)])).toHaveLength(1)
  const step = (by: number) =>
    ({ fault: { kind: 'step', at: 0, by, until: 0 }, from: 1, until: 1 }) as unknown as Struck
  const loss = {
    fault: { kind: 'restart', at: 0, down: 1, keeps: 'nothing', until: 1 },
    from: 2,
    until: 3,
  } as unknown as Struck
  const lower = [fence(1, 'k', 'a', 5), fence(3, 'k', 'b', 4)]
  expect(judgeFences(lower, [step(-86_400_000), loss])).toEqual([])
  expect(judgeFences([...lower, fence(4, 'k', 'c', 3)], [step(-86_400_000), loss])).toHaveLength(1)
  expect(judgeFences(lower, [step(-3_000), loss])).toHaveLength(1)
  expect(judgeFences(lower, [step(-86_400_000)])).toHaveLength(1)
  const life = (name: string, from: number, until: number) => ({ name, from, until })
  const gone = [life('worker-1', 0, 2.5), life('worker-2', 2.6, 9), life('producer-1', 0, 9)]
  expect(judgeFences(lower, [step(-3_000), loss], gone)).toEqual([])
  expect(judgeFences(lower, [step(3_000), loss], gone)).toHaveLength(1)
  expect(judgeFences(lower, [step(-3_000), loss], [...gone, life('worker-3', 0, 3.5)])).toHaveLength(1)
})

test('a delivery that stays in BullMQ at the end, or is in none of its lists, is leaked', () => {
  const lasting = [
    '{vr:sim:0}:meta',
    '{vr:sim:0}:rope:meta',
    '{vr:sim:0}:rope:id',
    '{vr:sim:0}:rope:stalled-check',
  ]
  expect(leftOf(lasting)).toEqual({ jobs: [], deliveries: [] })
  const leaked = ['{vr:sim:0}:rope:wait', '{vr:sim:0}:rope:active', '{vr:sim:0}:rope:j1_e5']
  expect(leftOf([...lasting, ...leaked]).deliveries).toEqual(leaked.toSorted())
  expect(leftOf(['{vr:sim:0}:jobs']).jobs).toEqual(['{vr:sim:0}:jobs'])
})

test('of a call that took long counts the time in which its process turned its event loop', () => {
  const stop = (from: number, until: number, facts: Partial<Silence> = {}): Silence => {
    const cause = 'itself'
    return { process: 'p', from, until, isDeath: false, cause, breaks: false, ...facts }
  }
  expect(stoodStill([], 'p', 0, 100)).toBe(0)
  expect(stoodStill([stop(10, 30)], 'p', 0, 100)).toBe(20)
  expect(stoodStill([stop(10, 30), stop(20, 40), stop(90, 200)], 'p', 0, 100)).toBe(40)
  expect(stoodStill([stop(10, 30, { cause: 'its link' }), stop(10, 30, { process: 'q' })], 'p', 0, 100)).toBe(
    0,
  )
})

test('the data of a job are its own, and hold what encodings change', () => {
  expect(JSON.stringify(payloadOf('a', 40))).not.toBe(JSON.stringify(payloadOf('b', 40)))
  expect(JSON.stringify(payloadOf('a', 40))).toBe(JSON.stringify(payloadOf('a', 40)))
  const text = JSON.stringify(payloadOf('a', 5_000))
  expect(text.length).toBeGreaterThan(5_000)
  expect(text).toContain('[]')
  expect(text).toContain('{}')
  const some = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
    .map((id) => JSON.stringify(payloadOf(id, 10)))
    .join()
  expect(Buffer.byteLength(some)).toBeGreaterThan(some.length)
})

test('a job that is lost while it waits for a retry had not started, and one that ran had', () => {
  const by = 'worker-1'
  const start = (at: number) =>
    ({ by, event: { type: 'start', at, id: 'a', key: 'k', cost: 1, attempt: 1 } }) as const
  const retry = { by, event: { type: 'return', at: 2, id: 'a', reason: 'retry', readyAt: 3 } } as const
  const end = { by, event: { type: 'end', at: 9, id: 'a', outcome: 'failed' }, isLost: true } as const
  expect(neverStarted([start(1), retry, end])).toContain(end.event)
  expect(neverStarted([end])).toContain(end.event)
  expect(neverStarted([start(1), end]).size).toBe(0)
  expect(neverStarted([start(1), retry, start(4), end]).size).toBe(0)
  expect(neverStarted([start(1), retry, { ...end, isLost: false }]).size).toBe(0)
})

test('a turn whose process died as it departed is over, also where another says that it was lost', () => {
  const end = (by: string, at: number, id: string, isLost = false) => {
    const outcome = isLost ? 'failed' : 'completed'
    return { by, event: { type: 'end', at, id, outcome }, isLost } as const
  }
  const lost = end('scheduler-1', 9, '~a', true)
  expect([...endedTwice([end('caller-1', 1, '~a'), lost])]).toEqual([lost.event])
  expect(endedTwice([lost]).size).toBe(0)
  expect(endedTwice([end('caller-1', 1, '~b'), lost]).size).toBe(0)
  // A process that ends a turn for the second time breaks a law, and so does one that loses a job that has ended.
  expect(endedTwice([end('caller-1', 1, '~a'), end('scheduler-1', 9, '~a')]).size).toBe(0)
  expect(endedTwice([end('worker-1', 1, 'a'), end('scheduler-1', 9, 'a', true)]).size).toBe(0)
})

test('an end that the store told of, and then the process that caused it, is one end', () => {
  const event = { type: 'end', at: 9, id: '~a', outcome: 'failed' } as const
  const told = { by: 'fate', event }
  const lost = { by: 'scheduler-1', event: { ...event }, isLost: true }
  expect(withoutRepetition([told, lost])).toEqual([{ ...event, outcome: 'cancelled' }])
  expect(withoutRepetition([told])).toEqual([event])
})

test('a turn that ended while its caller stood still, and was forgotten, is admitted anew when the caller asks again', () => {
  const answer = (by: string, at: number): Seen => ({ ...accepted('~c~1', at), by })
  const end: Seen = {
    by: 'worker-1',
    event: { type: 'end', at: 3 * SECOND, id: '~c~1', outcome: 'cancelled' },
  }
  const timesOf = (...seen: readonly Seen[]) => withoutRepetition(seen).map(({ at }) => at / SECOND)
  expect(timesOf(answer('fate', 1), end, answer('caller-1', 13))).toEqual([1, 3, 13])
  // The answer came late, and the end after it.
  expect(timesOf(answer('fate', 1), answer('caller-1', 2), end)).toEqual([2, 3])
  expect(timesOf(answer('fate', 1), answer('caller-1', 13))).toEqual([13])
})
