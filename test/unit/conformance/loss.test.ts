import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import { accept, end, fault, giveBack, limit, reject, run, start } from '../../support/history.ts'

const rule = limit(0, '9, 10/s')

/** The one breach that a history must show, as its message. */
function only(...events: HistoryEvent[]): string {
  const breaches = checkHistory([rule, ...events])
  expect(breaches.map(({ law }) => law)).toEqual(['L5'])
  return breaches[0]!.message
}

const clean = (...events: HistoryEvent[]) => expect(checkHistory([rule, ...events])).toEqual([])

test('every way to the one end conforms', () => {
  clean(...run(0, 'x'))
  clean(accept(0, 'x'), start(0, 'x'), end(1, 'x', 'failed'))
  clean(accept(0, 'x'), end(1, 'x', 'cancelled'))
  clean(accept(0, 'x'), end(1, 'x', 'expired'))
  clean(accept(0, 'x'), start(0, 'x'), giveBack(1, 'x', 'retry'), end(2, 'x', 'cancelled'))
  clean(
    accept(0, 'x'),
    start(0, 'x'),
    giveBack(1, 'x', 'retry'),
    start(100, 'x', { attempt: 2 }),
    end(101, 'x'),
  )
  clean(accept(0, 'x'), start(0, 'x'), giveBack(1, 'x', 'freeze'), start(100, 'x'), end(101, 'x'))
})

test('a job without an end is lost, unless the history continues', () => {
  const history = [rule, accept(0, 'x'), ...run(0, 'y').slice(0, 2), ...run(100, 'z', { from: 1 })]
  expect(checkHistory(history, { unfinished: true }).filter(({ law }) => law !== 'L4')).toEqual([])
  expect(only(accept(10, 'x'))).toBe(
    'key "a": job "x", accepted at 0.010000 s, has no end: it is waiting in line at 0.010000 s, expected one end',
  )
  expect(only(accept(0, 'x'), start(0, 'x'))).toContain('it is running at 0.000000 s')
  expect(only(accept(0, 'x'), start(0, 'x'), fault(1, 'x'))).toContain('it is interrupted by a fault at')
  expect(only(accept(0, 'x'), start(0, 'x'), giveBack(1, 'x', 'retry'))).toContain(
    'it is waiting for a retry',
  )
})

test('a job has one end, not two', () => {
  expect(only(...run(0, 'x'), end(2, 'x'))).toBe(
    'key "a": job "x" completed at 0.002000 s while it was ended, expected running',
  )
  expect(only(...run(0, 'x'), end(2, 'x', 'failed'))).toContain('failed at 0.002000 s while it was ended')
  expect(only(...run(0, 'x'), end(2, 'x', 'expired'))).toContain('expired at 0.002000 s while it was ended')
})

test('no job is cancelled or expires while running, or completes while waiting', () => {
  const running = [accept(0, 'x'), start(0, 'x')]
  expect(only(...running, end(1, 'x', 'cancelled'))).toContain(
    'was cancelled at 0.001000 s while it was running, expected waiting',
  )
  expect(only(...running, end(1, 'x', 'expired'))).toContain('while it was running, expected waiting')
  expect(only(accept(0, 'x'), end(1, 'x'))).toContain('while it was waiting in line, expected running')
  const returned = [...running, giveBack(1, 'x', 'retry')]
  expect(only(...returned, end(2, 'x', 'failed'))).toContain('while it was waiting for a retry')
})

test('an end or a return of an unknown job is a breach', () => {
  expect(only(end(1, 'x'))).toBe('job "x" completed at 0.001000 s while it was unknown, expected running')
  expect(only(giveBack(1, 'x', 'retry'))).toContain(
    'returned to its line (retry) at 0.001000 s while it was unknown',
  )
  const refused = reject(0, 'x', { cost: 10, reason: 'too-costly', retryAt: Infinity })
  expect(only(refused, end(1, 'x', 'cancelled'))).toContain('while it was rejected, expected waiting')
})

test('a job that started and was never accepted is one breach', () => {
  expect(only(start(1, 'x'), end(2, 'x'))).toBe(
    'key "a": job "x" started at 0.001000 s though it was never accepted, expected no start',
  )
  const refused = reject(0, 'x', { cost: 10, reason: 'too-costly', retryAt: Infinity })
  expect(only(refused, start(1, 'x'), end(2, 'x'))).toBe(
    'key "a": job "x" started at 0.001000 s though it was rejected at 0.000000 s, expected no start',
  )
})

test('an acceptance after the start comes too late, and is no second one', () => {
  expect(only(start(1, 'x'), accept(2, 'x'), end(3, 'x'))).toContain('though it was never accepted')
})

test('a job that was rejected may be accepted later', () => {
  const refused = reject(0, 'x', { cost: 10, reason: 'too-costly', retryAt: Infinity })
  clean(refused, ...run(1, 'x'))
})

test('no job starts after its end, whatever the end', () => {
  expect(only(...run(0, 'x'), start(100, 'x'))).toBe(
    'key "a": job "x" started at 0.100000 s after its end, expected no start',
  )
  expect(only(accept(0, 'x'), end(1, 'x', 'expired'), start(100, 'x'))).toContain('after its end')
  expect(only(accept(0, 'x'), end(1, 'x', 'cancelled'), start(100, 'x'))).toContain('after its end')
})

test('a second start requires a fault', () => {
  const twice = [start(100, 'x'), end(101, 'x')]
  expect(only(accept(0, 'x'), start(0, 'x'), ...twice)).toBe(
    'key "a": job "x" started at 0.100000 s while it was running: start 2 of attempt 1, expected at most 1',
  )
  clean(accept(0, 'x'), start(0, 'x'), fault(1, 'x'), ...twice)
  clean(accept(0, 'x'), fault(0, 'x'), start(0, 'x'), ...twice)
  const thrice = [start(0, 'x'), fault(1, 'x'), start(100, 'x'), start(200, 'x'), end(201, 'x')]
  expect(only(accept(0, 'x'), ...thrice)).toContain('start 3 of attempt 1, expected at most 2')
  clean(accept(0, 'x'), start(0, 'x'), fault(1, 'x'), fault(2, 'x'), ...thrice.slice(2))
})

test('a fault of one attempt does not allow two starts of the next', () => {
  const history = [accept(0, 'x'), start(0, 'x'), fault(1, 'x'), giveBack(2, 'x', 'retry')]
  const next = [start(100, 'x', { attempt: 2 }), start(200, 'x', { attempt: 2 }), end(201, 'x')]
  expect(only(...history, ...next)).toContain('start 2 of attempt 2, expected at most 1')
})

test('a fault after the end, or of an unknown job, allows nothing', () => {
  clean(...run(0, 'x'), fault(2, 'x'), fault(2, 'unknown'))
})

test('a job hit by a fault may be cancelled, complete or return', () => {
  const hit = [accept(0, 'x'), start(0, 'x'), fault(1, 'x')]
  clean(...hit, end(2, 'x', 'cancelled'))
  clean(...hit, end(2, 'x'))
  clean(...hit, giveBack(2, 'x', 'freeze'), start(100, 'x'), end(101, 'x'))
})

test('a retry is the next attempt, while a freeze returns the same one', () => {
  const again = (reason: 'retry' | 'freeze', attempt: number) => [
    accept(0, 'x'),
    start(0, 'x'),
    giveBack(1, 'x', reason),
    start(100, 'x', { attempt }),
    end(101, 'x'),
  ]
  expect(only(...again('retry', 1))).toBe(
    'key "a": job "x" started at 0.100000 s as attempt 1, expected attempt 2',
  )
  expect(only(...again('retry', 3))).toContain('as attempt 3, expected attempt 2')
  expect(only(...again('freeze', 2))).toContain('as attempt 2, expected attempt 1')
  expect(only(accept(0, 'x'), start(0, 'x', { attempt: 2 }), end(1, 'x'))).toContain('expected attempt 1')
})

test('a job that does not run cannot return', () => {
  expect(only(accept(0, 'x'), giveBack(1, 'x', 'freeze'), start(1, 'x'), end(2, 'x'))).toBe(
    'key "a": job "x" was returned to its line (freeze) at 0.001000 s while it was waiting in line, expected running',
  )
})

test('a live id is not accepted again, an ended one may be', () => {
  expect(only(accept(0, 'x'), accept(1, 'x'), start(1, 'x'), end(2, 'x'))).toBe(
    'key "a": job "x" was accepted at 0.001000 s while it was waiting in line, accepted at 0.000000 s before, ' +
      'expected one acceptance',
  )
  clean(...run(0, 'x'), ...run(100, 'x', { from: 50 }))
})

test('a rejection does not change a job with the same id', () => {
  clean(
    accept(0, 'x'),
    reject(0, 'x', { cost: 10, reason: 'too-costly', retryAt: Infinity }),
    start(0, 'x'),
    end(1, 'x'),
  )
})
