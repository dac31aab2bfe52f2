import { describe, expect, test } from 'vitest'
import { SECOND } from '../../../src/core/duration.ts'
import { IdConflictError, NoLimitError } from '../../../src/core/errors.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import { type BucketPage, bucketQuerySchema } from '../../../src/line/bucket-query.ts'
import {
  COMPLETED,
  request,
  retryAt,
  runUntil,
  start,
  storeWith,
  walked,
} from '../../support/memory-store.ts'

const NOW = 1_700_000_000 * SECOND
const NEVER = Number.POSITIVE_INFINITY
const everything = bucketQuerySchema.parse({ sort: 'key' })

function admitted(store: ReturnType<typeof storeWith>, ids: string, now = NOW): void {
  for (const id of ids) expect(store.admit(request({ id }), now)).toMatchObject({ accepted: true, id })
}

function listed(store: ReturnType<typeof storeWith>): BucketPage {
  return walked(store.views.list(everything, NOW))
}

test('a recount of many buckets rests between them, and counts them all', () => {
  const store = storeWith('2, 1/s')
  for (let n = 0; n < 4_500; n++) store.admit(request({ key: `k${n}` }), NOW)
  const walk = store.views.audit()
  let rests = 0
  for (let step = walk.next(); ; step = walk.next()) {
    if (step.done) {
      expect(step.value).toMatchObject({ admitted: 4_500, waiting: 4_500 })
      break
    }
    rests++
  }
  expect(rests).toBe(2)
})

describe('admit', () => {
  test('a job waits, and is due at its slot', () => {
    const store = storeWith('2, 1/s')
    expect(store.nextDeparture()).toBe(NEVER)
    admitted(store, 'xy')
    expect(walked(store.views.audit())).toEqual({
      admitted: 2,
      waiting: 2,
      handed: 0,
      running: 0,
      retrying: 0,
      ended: 0,
    })
    expect(store.live).toBe(2)
    expect(store.nextDeparture()).toBe(NOW)
    expect(store.admit(request(), NOW)).toMatchObject({
      accepted: false,
      reason: 'full',
      retryAfterMs: 1_000,
    })
    expect(walked(store.views.audit()).admitted).toBe(2)
  })

  test('a rejected job leaves no bucket', () => {
    const store = storeWith('2, 1/s')
    store.admit(request({ cost: 3 }), NOW)
    store.forecast('a', 1, NOW)
    expect([store.views.inspect('a', NOW), store.nextChore(), store.live]).toEqual([undefined, NEVER, 0])
  })

  test('a known id is answered again, also when the line is full, and is refused to another request', () => {
    const store = storeWith('1, 1/s')
    const first = store.admit(request({ id: 'x' }), NOW)
    expect(store.admit(request({ id: 'x' }), NOW + SECOND)).toEqual({ ...first, replayed: true })
    for (const other of [{ key: 'a/b' }, { data: '2' }, { cost: 2 }]) {
      expect(() => store.admit(request({ id: 'x', ...other }), NOW)).toThrow(IdConflictError)
    }
    expect(walked(store.views.audit()).admitted).toBe(1)
  })

  test('an id counts until its job is forgotten', () => {
    const store = storeWith('9, 1/s', 1)
    admitted(store, 'xy')
    runUntil(store, NOW + SECOND)
    expect([store.views.job('x', NOW), store.views.job('y', NOW)?.state]).toEqual([undefined, 'completed'])
    expect(() => store.admit(request({ id: 'y', data: '2' }), NOW)).toThrow(IdConflictError)
    expect(store.admit(request({ id: 'x', data: '2' }), NOW + 2 * SECOND)).toMatchObject({ accepted: true })
  })

  test('nothing is remembered where nothing is to be kept', () => {
    const store = storeWith('9, 1/s', 0)
    admitted(store, 'x')
    runUntil(store, NOW)
    expect([store.views.job('x', NOW), walked(store.views.audit()).ended, store.live]).toEqual([
      undefined,
      1,
      0,
    ])
  })
})

describe('admitMany', () => {
  test.each([
    ['no limit', { key: 'lawless' }, NoLimitError],
    ['an id of another job', { id: 'known', data: '2' }, IdConflictError],
    ['an id of the same batch', { id: 'first', data: '2' }, IdConflictError],
  ])('one with %s in the middle, and none is admitted', (_, bad, error) => {
    const store = storeWith({ a: '9, 1/s', b: '9, 1/s' })
    store.admit(request({ id: 'known', key: 'a/b' }), NOW)
    const before = [walked(store.views.audit()), listed(store)]
    const batch = [request({ id: 'first' }), request(bad), request({ id: 'last' })]
    expect(() => store.admitMany(batch, NOW)).toThrow(error)
    expect([walked(store.views.audit()), listed(store)]).toEqual(before)
    expect([store.views.job('first', NOW), store.views.job('last', NOW)]).toEqual([undefined, undefined])
    expect(store.admitMany([batch[0]!, batch[2]!], NOW)).toMatchObject([{ position: 1 }, { position: 2 }])
  })

  test('the same id twice is one job, whether it fits or not', () => {
    const store = storeWith('2, 1/s')
    const [big, small] = [request({ id: 'big', cost: 3 }), request({ id: 'small' })]
    const verdicts = store.admitMany([big, small, small, big], NOW)
    expect(verdicts.map(({ accepted }) => accepted)).toEqual([false, true, true, false])
    expect(verdicts[2]).toHaveProperty('replayed', true)
    expect(walked(store.views.audit()).admitted).toBe(1)
  })
})

describe('claim, gate and finish', () => {
  test('waiting -> handed -> running -> completed', () => {
    const store = storeWith('9, 1/s')
    admitted(store, 'x')
    expect(store.claim(NOW - 1)).toBeUndefined()
    const job = store.claim(NOW)!
    expect([job.id, walked(store.views.audit()).handed]).toEqual(['x', 1])
    expect(store.starts.gate(job, NOW)).toBe(NOW)
    expect(store.views.job('x', NOW)).toMatchObject({ state: 'running', attempt: 1, departedAt: NOW / 1_000 })
    expect(store.views.inspect('a', NOW)).toMatchObject({ waiting: 0, running: 1 })
    store.finish(job, { kind: 'completed', result: '{"n":1}' }, NOW + 7)
    expect(store.views.job('x', NOW)).toMatchObject({ state: 'completed', result: { n: 1 } })
    expect(walked(store.views.audit())).toMatchObject({ running: 0, ended: 1 })
    expect(() => store.finish(job, COMPLETED, NOW)).toThrow('cannot go from completed')
  })

  test('-> failed, with the error', () => {
    const store = storeWith('9, 1/s')
    admitted(store, 'x')
    store.finish(start(store, NOW)!, { kind: 'failed', error: 'no' }, NOW)
    expect(store.views.job('x', NOW)).toMatchObject({ state: 'failed', error: 'no', attempt: 1 })
  })

  test('-> retrying -> handed, not before it is ready', () => {
    const store = storeWith('9, 1/s')
    admitted(store, 'x')
    store.finish(start(store, NOW)!, retryAt(NOW + 5 * SECOND), NOW)
    expect(store.views.job('x', NOW)).toMatchObject({ state: 'retrying', position: 1, error: 'as planned' })
    expect(store.nextDeparture()).toBe(NOW + 5 * SECOND)
    expect(start(store, NOW + 5 * SECOND)).toMatchObject({ id: 'x', attempt: 2, fence: 2 })
  })

  test('-> given back: first in line, and its attempt with it', () => {
    const store = storeWith('9, 1/s')
    admitted(store, 'xy')
    const job = start(store, NOW)!
    store.holds.freeze('a', NOW + 5 * SECOND, NOW)
    store.finish(job, { kind: 'freeze', readyAt: NOW + 5 * SECOND }, NOW)
    expect(store.views.job('x', NOW)).toMatchObject({ state: 'retrying', attempt: 0, position: 1 })
    expect(start(store, NOW + 5 * SECOND)).toMatchObject({ id: 'x', attempt: 1 })
  })

  test('a slot that is met within the tolerance keeps its grid; a later one moves it', () => {
    const store = storeWith('9, 1/s')
    admitted(store, 'wxyz')
    start(store, NOW)
    const late = NOW + SECOND + 5_000
    expect(store.starts.gate(store.claim(late)!, late)).toBe(NOW + SECOND)
    expect(store.nextDeparture()).toBe(NOW + 2 * SECOND)
    const later = NOW + 2 * SECOND + 5_001
    expect(store.starts.gate(store.claim(later)!, later)).toBe(later)
    expect(store.nextDeparture()).toBe(later + SECOND)
  })

  test('of two buckets the one whose slot came first departs first', () => {
    const store = storeWith('9, 1/s')
    store.admit(request({ id: 'late', key: 'late' }), NOW + 2)
    store.admit(request({ id: 'early', key: 'early' }), NOW + 1)
    expect(runUntil(store, NOW + 9).map(([id]) => id)).toEqual(['early', 'late'])
  })
})

describe('cancel and expire', () => {
  test('waiting or retrying -> cancelled; other states stay', () => {
    const store = storeWith('9, 1/s')
    admitted(store, 'xyz')
    const job = start(store, NOW)!
    expect(store.cancel('x', NOW)).toBeUndefined()
    expect(store.cancel('y', NOW)).toMatchObject({ id: 'y', state: 'cancelled' })
    expect(store.cancel('y', NOW)).toBeUndefined()
    store.finish(job, retryAt(NOW), NOW)
    expect(store.cancel('x', NOW)).toMatchObject({ id: 'x' })
    expect(walked(store.views.audit())).toMatchObject({ waiting: 1, retrying: 0, ended: 2 })
    expect(store.views.inspect('a', NOW)!.waiting).toBe(1)
  })

  test('every deadline that has passed, the first first, and no other', () => {
    const store = storeWith('9, 1/m')
    for (const [id, seconds] of Object.entries({ x: 3, y: 2, z: 9 })) {
      store.admit(request({ id, deadline: NOW + seconds * 60 * SECOND, key: id }), NOW)
    }
    store.holds.pause('x', NOW)
    expect(store.nextChore()).toBe(NOW + 120 * SECOND + 5_001)
    expect(store.expire(NOW + 120 * SECOND)).toEqual([])
    expect(store.expire(NOW + 200 * SECOND).map(({ id }) => id)).toEqual(['y', 'x'])
    expect(walked(store.views.audit())).toMatchObject({ waiting: 1, ended: 2 })
  })

  test('does not cancel a job that was handed over; cancels it again once it is back', () => {
    const store = storeWith('9, 1/s')
    store.admit(request({ id: 'x', deadline: NOW + SECOND }), NOW)
    const job = start(store, NOW)!
    expect([store.nextChore(), store.expire(NOW + 9 * SECOND)]).toEqual([NEVER, []])
    store.finish(job, retryAt(NOW + 10 * SECOND), NOW + 9 * SECOND)
    expect(store.expire(NOW + 9 * SECOND)).toMatchObject([{ id: 'x', state: 'expired' }])
  })
})

describe('freeze, pause and resume', () => {
  test('a freeze never shortens a longer one', () => {
    const store = storeWith('9, 1/s')
    admitted(store, 'x')
    expect(store.holds.freeze('a', NOW + 9 * SECOND, NOW)).toBe(NOW + 9 * SECOND)
    expect(store.holds.freeze('a', NOW + 2 * SECOND, NOW)).toBe(NOW + 9 * SECOND)
    expect(store.nextDeparture()).toBe(NOW + 9 * SECOND)
    expect(store.views.inspect('a', NOW)).toMatchObject({ state: 'frozen' })
  })

  test('a paused bucket is never due; a resumed one from then on', () => {
    const store = storeWith('9, 1/s')
    admitted(store, 'xy')
    start(store, NOW)
    store.holds.pause('a', NOW)
    expect([store.nextDeparture(), store.claim(NOW + 9 * SECOND)]).toEqual([NEVER, undefined])
    store.holds.resume('a', NOW + 9 * SECOND)
    expect(store.nextDeparture()).toBe(NOW + 9 * SECOND)
    store.holds.resume('unknown', NOW)
    expect(store.views.inspect('unknown', NOW)).toBeUndefined()
  })

  test('a key without a limit can be neither frozen nor paused', () => {
    const store = storeWith({ a: '9, 1/s' })
    expect(() => store.holds.freeze('b', NOW, NOW)).toThrow(NoLimitError)
    expect(() => store.holds.pause('b', NOW)).toThrow(NoLimitError)
  })
})

describe('the rule book', () => {
  test('an unset limit stays with the backlog; new jobs are refused; a new limit governs all', () => {
    const store = storeWith({ a: '9, 1/s' })
    admitted(store, 'xyz')
    const unset = () => store.changeRules({ kind: 'unset', pattern: 'a' }, NOW).isChanged
    expect([unset(), unset()]).toEqual([true, false])
    expect(() => store.admit(request(), NOW)).toThrow(NoLimitError)
    expect(() => store.admitMany([request()], NOW)).toThrow(NoLimitError)
    expect(() => store.forecast('a', 1, NOW)).toThrow(NoLimitError)
    expect(store.views.inspect('a', NOW)).toMatchObject({ limit: '9, 1/s', jobs: 3 })
    expect(runUntil(store, NOW + SECOND)).toHaveLength(2)
    store.changeRules({ kind: 'set', rule: parseRule('*', '9, 0.1/s') }, NOW)
    expect(store.nextDeparture()).toBe(NOW + 11 * SECOND)
    expect(store.admit(request(), NOW + 2 * SECOND)).toMatchObject({ accepted: true, position: 2 })
  })

  test('a capacity below the depth drops no job', () => {
    const store = storeWith('3, 1/s')
    admitted(store, 'xyz')
    store.changeRules({ kind: 'set', rule: parseRule('*', '1, 1/s') }, NOW)
    expect(store.admit(request(), NOW)).toMatchObject({ reason: 'full', waiting: 3, retryAfterMs: 2_000 })
    expect(runUntil(store, NOW + 9 * SECOND).map(([id]) => id)).toEqual(['x', 'y', 'z'])
  })

  test('its rules are those in force', () => {
    const store = storeWith({ '*': '3, 1/s', 'a/*': '4, 1/s' })
    const { rules } = store
    expect(rules.list().map(({ pattern }) => pattern)).toEqual(['*', 'a/*'])
    expect([rules.find('a/b')!.pattern, rules.find('c')!.pattern]).toEqual(['a/*', '*'])
  })
})

describe('forget', () => {
  test('forgets empty buckets whose next has passed, and returns how many', () => {
    const store = storeWith('9, 1/s')
    for (const key of ['a', 'b', 'c']) store.admit(request({ key, id: key }), NOW)
    store.holds.pause('c', NOW)
    runUntil(store, NOW)
    expect([store.forget(NOW + SECOND - 1), store.nextChore()]).toEqual([0, NOW + SECOND])
    expect([store.forget(NOW + SECOND), store.forget(NOW + SECOND)]).toEqual([2, 0])
    expect(listed(store).buckets.map(({ key }) => key)).toEqual(['c'])
    expect(store.views.inspect('a', NOW)).toBeUndefined()
  })

  test('forgets a bounded number at a time, so that nothing is blocked', () => {
    const store = storeWith('9, 1/s')
    for (let n = 0; n < 10_000; n++) store.admit(request({ key: `${n}` }), NOW)
    runUntil(store, NOW)
    let passes = 0
    for (let forgotten = 0; forgotten < 10_000; passes++) {
      const some = store.forget(NOW + SECOND)
      expect(some).toBeLessThanOrEqual(1_000)
      expect(some).toBeGreaterThan(0)
      forgotten += some
    }
    expect([passes > 1, store.nextChore()]).toEqual([true, NEVER])
  })
})

test('a turn that was due before a retry of its key was ready waits behind that for a handler', () => {
  const store = storeWith('100, 10/s, 1 at once')
  store.admit(request({ id: 'fails' }), 0)
  store.admit(request({ id: 'long' }), 0)
  store.admit(request({ id: 'turn', isTurn: true }), 0)
  store.finish(start(store, 0)!, retryAt(1.5 * SECOND), 0.05 * SECOND)
  store.finish(start(store, 0.1 * SECOND)!, COMPLETED, 3 * SECOND)
  expect(store.claim(3 * SECOND, false)).toBeUndefined()
  expect(store.claim(3 * SECOND)).toMatchObject({ id: 'fails' })
})
