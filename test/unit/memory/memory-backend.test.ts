import { describe, expect, test } from 'vitest'
import { SECOND } from '../../../src/core/duration.ts'
import { IdConflictError, NoLimitError } from '../../../src/core/errors.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import { type BucketPage, bucketQuerySchema } from '../../../src/line/bucket-query.ts'
import { backendWith, COMPLETED, request, retryAt, runUntil, start } from '../../support/backend.ts'

const NOW = 1_700_000_000 * SECOND
const NEVER = Number.POSITIVE_INFINITY
const everything = bucketQuerySchema.parse({ sort: 'key' })

function admitted(backend: ReturnType<typeof backendWith>, ids: string, now = NOW): void {
  for (const id of ids) expect(backend.admit(request({ id }), now)).toMatchObject({ accepted: true, id })
}

/** The few of these tests are looked at in one go. */
function listed(backend: ReturnType<typeof backendWith>): BucketPage {
  const { done, value } = backend.list(everything, NOW).next()
  if (!done) throw new Error('expected a short list to take no rest')
  return value
}

describe('admit', () => {
  test('a job waits, and is due at its slot', () => {
    const backend = backendWith('2, 1/s')
    expect(backend.nextDeparture()).toBe(NEVER)
    admitted(backend, 'xy')
    expect(backend.audit()).toEqual({ admitted: 2, waiting: 2, handed: 0, running: 0, retrying: 0, ended: 0 })
    expect(backend.live).toBe(2)
    expect(backend.nextDeparture()).toBe(NOW)
    expect(backend.admit(request(), NOW)).toMatchObject({
      accepted: false,
      reason: 'full',
      retryAfterMs: 1_000,
    })
    expect(backend.audit().admitted).toBe(2)
  })

  test('a refused newcomer leaves no bucket', () => {
    const backend = backendWith('2, 1/s')
    backend.admit(request({ cost: 3 }), NOW)
    backend.forecast('a', 1, NOW)
    expect([backend.inspect('a', NOW), backend.nextChore(), backend.live]).toEqual([undefined, NEVER, 0])
  })

  test('a known id is answered again, also when the line is full, and is refused to another request', () => {
    const backend = backendWith('1, 1/s')
    const first = backend.admit(request({ id: 'x' }), NOW)
    expect(backend.admit(request({ id: 'x' }), NOW + SECOND)).toEqual({ ...first, replayed: true })
    for (const other of [{ key: 'b' }, { data: '2' }, { cost: 2 }]) {
      expect(() => backend.admit(request({ id: 'x', ...other }), NOW)).toThrow(IdConflictError)
    }
    expect(backend.audit().admitted).toBe(1)
  })

  test('an id counts until its job is forgotten', () => {
    const backend = backendWith('9, 1/s', 1)
    admitted(backend, 'xy')
    runUntil(backend, NOW + SECOND)
    expect([backend.job('x', NOW), backend.job('y', NOW)?.state]).toEqual([undefined, 'completed'])
    expect(() => backend.admit(request({ id: 'y', data: '2' }), NOW)).toThrow(IdConflictError)
    expect(backend.admit(request({ id: 'x', data: '2' }), NOW + 2 * SECOND)).toMatchObject({ accepted: true })
  })

  test('nothing is remembered where nothing is to be kept', () => {
    const backend = backendWith('9, 1/s', 0)
    admitted(backend, 'x')
    runUntil(backend, NOW)
    expect([backend.job('x', NOW), backend.audit().ended, backend.live]).toEqual([undefined, 1, 0])
  })
})

describe('admitMany', () => {
  test.each([
    ['no limit', { key: 'lawless' }, NoLimitError],
    ['an id of somebody else', { id: 'known', data: '2' }, IdConflictError],
    ['an id of the same batch', { id: 'first', data: '2' }, IdConflictError],
  ])('one with %s in the middle, and nobody is admitted', (_, bad, error) => {
    const backend = backendWith({ a: '9, 1/s', b: '9, 1/s' })
    backend.admit(request({ id: 'known', key: 'b' }), NOW)
    const before = [backend.audit(), listed(backend)]
    const batch = [request({ id: 'first' }), request(bad), request({ id: 'last' })]
    expect(() => backend.admitMany(batch, NOW)).toThrow(error)
    expect([backend.audit(), listed(backend)]).toEqual(before)
    expect([backend.job('first', NOW), backend.job('last', NOW)]).toEqual([undefined, undefined])
    expect(backend.admitMany([batch[0]!, batch[2]!], NOW)).toMatchObject([{ position: 1 }, { position: 2 }])
  })

  test('the same id twice is one job, whether it fits or not', () => {
    const backend = backendWith('2, 1/s')
    const [big, small] = [request({ id: 'big', cost: 3 }), request({ id: 'small' })]
    const verdicts = backend.admitMany([big, small, small, big], NOW)
    expect(verdicts.map(({ accepted }) => accepted)).toEqual([false, true, true, false])
    expect(verdicts[2]).toHaveProperty('replayed', true)
    expect(backend.audit().admitted).toBe(1)
  })
})

describe('claim, gate and finish', () => {
  test('waiting -> handed -> running -> completed', () => {
    const backend = backendWith('9, 1/s')
    admitted(backend, 'x')
    expect(backend.claim(NOW - 1)).toBeUndefined()
    const job = backend.claim(NOW)!
    expect([job.id, backend.audit().handed]).toEqual(['x', 1])
    expect(backend.gate(job, NOW)).toBe(NOW)
    expect(backend.job('x', NOW)).toMatchObject({ state: 'running', attempt: 1, departedAt: NOW / 1_000 })
    expect(backend.inspect('a', NOW)).toMatchObject({ waiting: 0, running: 1 })
    backend.finish(job, { kind: 'completed', result: '{"n":1}' }, NOW + 7)
    expect(backend.job('x', NOW)).toMatchObject({ state: 'completed', result: { n: 1 } })
    expect(backend.audit()).toMatchObject({ running: 0, ended: 1 })
    expect(() => backend.finish(job, COMPLETED, NOW)).toThrow('cannot go from completed')
  })

  test('-> failed, with the error', () => {
    const backend = backendWith('9, 1/s')
    admitted(backend, 'x')
    backend.finish(start(backend, NOW)!, { kind: 'failed', error: 'no' }, NOW)
    expect(backend.job('x', NOW)).toMatchObject({ state: 'failed', error: 'no', attempt: 1 })
  })

  test('-> retrying -> handed, not before it is ready', () => {
    const backend = backendWith('9, 1/s')
    admitted(backend, 'x')
    backend.finish(start(backend, NOW)!, retryAt(NOW + 5 * SECOND), NOW)
    expect(backend.job('x', NOW)).toMatchObject({ state: 'retrying', position: 1, error: 'as planned' })
    expect(backend.nextDeparture()).toBe(NOW + 5 * SECOND)
    expect(start(backend, NOW + 5 * SECOND)).toMatchObject({ id: 'x', attempt: 2, fence: 2 })
  })

  test('-> given back: first in line, and its attempt with it', () => {
    const backend = backendWith('9, 1/s')
    admitted(backend, 'xy')
    const job = start(backend, NOW)!
    backend.freeze('a', NOW + 5 * SECOND, NOW)
    backend.finish(job, { kind: 'freeze', readyAt: NOW + 5 * SECOND }, NOW)
    expect(backend.job('x', NOW)).toMatchObject({ state: 'retrying', attempt: 0, position: 1 })
    expect(start(backend, NOW + 5 * SECOND)).toMatchObject({ id: 'x', attempt: 1 })
  })

  test('a slot that is met within the tolerance keeps its grid; a later one moves it', () => {
    const backend = backendWith('9, 1/s')
    admitted(backend, 'wxyz')
    start(backend, NOW)
    const late = NOW + SECOND + 5_000
    expect(backend.gate(backend.claim(late)!, late)).toBe(NOW + SECOND)
    expect(backend.nextDeparture()).toBe(NOW + 2 * SECOND)
    const later = NOW + 2 * SECOND + 5_001
    expect(backend.gate(backend.claim(later)!, later)).toBe(later)
    expect(backend.nextDeparture()).toBe(later + SECOND)
  })

  test('of two buckets the one whose slot came first departs first', () => {
    const backend = backendWith('9, 1/s')
    backend.admit(request({ id: 'late', key: 'late' }), NOW + 2)
    backend.admit(request({ id: 'early', key: 'early' }), NOW + 1)
    expect(runUntil(backend, NOW + 9).map(([id]) => id)).toEqual(['early', 'late'])
  })
})

describe('cancel and expire', () => {
  test('waiting or retrying -> cancelled; nothing for anybody else', () => {
    const backend = backendWith('9, 1/s')
    admitted(backend, 'xyz')
    const job = start(backend, NOW)!
    expect(backend.cancel('x', NOW)).toBeUndefined()
    expect(backend.cancel('y', NOW)).toMatchObject({ id: 'y', state: 'cancelled' })
    expect(backend.cancel('y', NOW)).toBeUndefined()
    backend.finish(job, retryAt(NOW), NOW)
    expect(backend.cancel('x', NOW)).toMatchObject({ id: 'x' })
    expect(backend.audit()).toMatchObject({ waiting: 1, retrying: 0, ended: 2 })
    expect(backend.inspect('a', NOW)!.waiting).toBe(1)
  })

  test('every deadline that has passed, the first first, and no other', () => {
    const backend = backendWith('9, 1/m')
    for (const [id, seconds] of Object.entries({ x: 3, y: 2, z: 9 })) {
      backend.admit(request({ id, deadline: NOW + seconds * 60 * SECOND, key: id }), NOW)
    }
    backend.pause('x', NOW)
    expect(backend.nextChore()).toBe(NOW + 120 * SECOND + 5_001)
    expect(backend.expire(NOW + 120 * SECOND)).toEqual([])
    expect(backend.expire(NOW + 200 * SECOND).map(({ id }) => id)).toEqual(['y', 'x'])
    expect(backend.audit()).toMatchObject({ waiting: 1, ended: 2 })
  })

  test('not of one that was handed over; again of one that came back', () => {
    const backend = backendWith('9, 1/s')
    backend.admit(request({ id: 'x', deadline: NOW + SECOND }), NOW)
    const job = start(backend, NOW)!
    expect([backend.nextChore(), backend.expire(NOW + 9 * SECOND)]).toEqual([NEVER, []])
    backend.finish(job, retryAt(NOW + 10 * SECOND), NOW + 9 * SECOND)
    expect(backend.expire(NOW + 9 * SECOND)).toMatchObject([{ id: 'x', state: 'expired' }])
  })
})

describe('freeze, pause and resume', () => {
  test('a freeze never shortens a longer one', () => {
    const backend = backendWith('9, 1/s')
    admitted(backend, 'x')
    expect(backend.freeze('a', NOW + 9 * SECOND, NOW)).toBe(NOW + 9 * SECOND)
    expect(backend.freeze('a', NOW + 2 * SECOND, NOW)).toBe(NOW + 9 * SECOND)
    expect(backend.nextDeparture()).toBe(NOW + 9 * SECOND)
    expect(backend.inspect('a', NOW)).toMatchObject({ state: 'frozen' })
  })

  test('a paused bucket is never due; a resumed one from then on', () => {
    const backend = backendWith('9, 1/s')
    admitted(backend, 'xy')
    start(backend, NOW)
    backend.pause('a', NOW)
    expect([backend.nextDeparture(), backend.claim(NOW + 9 * SECOND)]).toEqual([NEVER, undefined])
    backend.resume('a', NOW + 9 * SECOND)
    expect(backend.nextDeparture()).toBe(NOW + 9 * SECOND)
    backend.resume('nobody', NOW)
    expect(backend.inspect('nobody', NOW)).toBeUndefined()
  })

  test('a key without a limit can be neither frozen nor paused', () => {
    const backend = backendWith({ a: '9, 1/s' })
    expect(() => backend.freeze('b', NOW, NOW)).toThrow(NoLimitError)
    expect(() => backend.pause('b', NOW)).toThrow(NoLimitError)
  })
})

describe('the rule book', () => {
  test('a limit that is unset stays with the backlog; newcomers are refused; a new one governs all', () => {
    const backend = backendWith({ a: '9, 1/s' })
    admitted(backend, 'xyz')
    const unset = () => backend.changeRules({ kind: 'unset', pattern: 'a' }, NOW).isChanged
    expect([unset(), unset()]).toEqual([true, false])
    expect(() => backend.admit(request(), NOW)).toThrow(NoLimitError)
    expect(() => backend.admitMany([request()], NOW)).toThrow(NoLimitError)
    expect(() => backend.forecast('a', 1, NOW)).toThrow(NoLimitError)
    expect(backend.inspect('a', NOW)).toMatchObject({ limit: '9, 1/s', jobs: 3 })
    expect(runUntil(backend, NOW + SECOND)).toHaveLength(2)
    backend.changeRules({ kind: 'set', rule: parseRule('*', '9, 0.1/s') }, NOW)
    expect(backend.nextDeparture()).toBe(NOW + 11 * SECOND)
    expect(backend.admit(request(), NOW + 2 * SECOND)).toMatchObject({ accepted: true, position: 2 })
  })

  test('a capacity below the depth drops nobody', () => {
    const backend = backendWith('3, 1/s')
    admitted(backend, 'xyz')
    backend.changeRules({ kind: 'set', rule: parseRule('*', '1, 1/s') }, NOW)
    expect(backend.admit(request(), NOW)).toMatchObject({ reason: 'full', waiting: 3, retryAfterMs: 2_000 })
    expect(runUntil(backend, NOW + 9 * SECOND).map(([id]) => id)).toEqual(['x', 'y', 'z'])
  })

  test('its rules tell what is in force', () => {
    const backend = backendWith({ '*': '3, 1/s', 'a/*': '4, 1/s' })
    const { rules } = backend
    expect(rules.list().map(({ pattern }) => pattern)).toEqual(['*', 'a/*'])
    expect([rules.find('a/b')!.pattern, rules.find('c')!.pattern]).toEqual(['a/*', '*'])
  })
})

describe('forget', () => {
  test('takes buckets that are empty and whose next has passed, and says how many', () => {
    const backend = backendWith('9, 1/s')
    for (const key of ['a', 'b', 'c']) backend.admit(request({ key, id: key }), NOW)
    backend.pause('c', NOW)
    runUntil(backend, NOW)
    expect([backend.forget(NOW + SECOND - 1), backend.nextChore()]).toEqual([0, NOW + SECOND])
    expect([backend.forget(NOW + SECOND), backend.forget(NOW + SECOND)]).toEqual([2, 0])
    expect(listed(backend).buckets.map(({ key }) => key)).toEqual(['c'])
    expect(backend.inspect('a', NOW)).toBeUndefined()
  })

  test('many at once are taken a bounded number at a time, so that nobody is held up meanwhile', () => {
    const backend = backendWith('9, 1/s')
    for (let n = 0; n < 10_000; n++) backend.admit(request({ key: `${n}` }), NOW)
    runUntil(backend, NOW)
    let passes = 0
    for (let forgotten = 0; forgotten < 10_000; passes++) {
      const some = backend.forget(NOW + SECOND)
      expect(some).toBeLessThanOrEqual(1_000)
      expect(some).toBeGreaterThan(0)
      forgotten += some
    }
    expect([passes > 1, backend.nextChore()]).toEqual([true, NEVER])
  })
})
