import { describe, expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { CheckOptions, HistoryEvent } from '../../../src/conformance/history.ts'
import {
  accept,
  audit,
  end,
  fault,
  freeze,
  giveBack,
  inOrder,
  limit,
  pause,
  reject,
  resume,
  run,
  start,
} from '../../support/history.ts'

/** News takes 50 ms. */
const LAG = { lag: 50_000 }
const crash = (at: number, handed: number): HistoryEvent => ({ type: 'crash', at: at * 1_000, handed })

/** Laws and jobs of the breaches, of a history that goes on. */
function laws(history: HistoryEvent[], options: CheckOptions = LAG) {
  return checkHistory(history, { unfinished: true, ...options }).map(({ law, id }) => [law, id])
}

describe('the bound', () => {
  const full = [limit(0, '1, 10/s'), accept(0, 'x'), start(10, 'x')]
  const refuse = (at: number) => reject(at, 'y', { retryAt: at + 1 })

  test('a rejection within the lag of a start may count it as waiting', () => {
    expect(laws([...full, refuse(60)])).toEqual([])
    expect(laws([...full, refuse(60.001)])).toEqual([['L1', 'y']])
    expect(laws([...full, refuse(60)], {})).toEqual([['L1', 'y']])
  })

  test('a job that started, ended and returned within the lag counts once', () => {
    const back = [...full, giveBack(20, 'x', 'retry')]
    expect(laws([limit(0, '2, 10/s'), ...back.slice(1), refuse(30)])).toEqual([['L1', 'y']])
    expect(laws([...full, end(20, 'x'), refuse(30)])).toEqual([])
  })

  test('a start of a job hit by a fault may not be known yet', () => {
    const restarted = [...full, fault(20, 'x'), start(200, 'x')]
    expect(laws([...restarted, refuse(250)])).toEqual([])
    expect(laws([...restarted, refuse(251)])).toEqual([['L1', 'y']])
  })

  test('a job that left the line without a start is known to the store immediately', () => {
    expect(laws([...full.slice(0, 2), end(10, 'x', 'cancelled'), refuse(20)])).toEqual([['L1', 'y']])
  })

  test('the lag of one key does not affect another', () => {
    const other = [limit(0, '1, 10/s', 'b'), reject(20, 'y', { key: 'b', retryAt: 21 })]
    expect(laws(inOrder(full, other))).toEqual([['L1', 'y']])
  })

  test('a start within the lag never excuses an acceptance beyond the capacity', () => {
    expect(laws([...full.slice(0, 2), accept(5, 'y'), start(10, 'x')])).toEqual([['L1', 'y']])
  })

  test('an acceptance within the lag of a return may not count it', () => {
    const back = [...full, giveBack(100, 'x', 'retry', 400)]
    expect(laws([...back, accept(150, 'y')])).toEqual([])
    expect(laws([...back, accept(151, 'y')])).toEqual([['L1', 'y']])
    expect(laws([...back, accept(150, 'y', { cost: 2 })])).toEqual([['L1', 'y']])
  })
})

describe('the promise', () => {
  /** Three wait behind x, which started at 0; at 100 ms y is refused and gets `retryAt`. */
  const refused = (retryAt: number, at = 100) => [
    limit(0, '3, 2/s'),
    ...['x', 'p', 'q', 'r'].flatMap((id) => (id === 'p' ? [start(0, 'x'), accept(10, id)] : [accept(0, id)])),
    reject(at, 'y', { retryAt }),
  ]

  test('may be later by the lag, and not more', () => {
    expect(laws([...refused(551), start(500, 'p')])).toEqual([])
    expect(laws([...refused(557), start(500, 'p')])).toEqual([['L1', 'y']])
  })

  test('is never earlier', () => {
    expect(laws([...refused(495), start(500, 'p')])).toEqual([])
    expect(laws([...refused(494), start(500, 'p')])).toEqual([['L1', 'y']])
  })

  /** Of two that wait, x departs at `at`; y was refused 10 ms after the freeze, and got `retryAt`. */
  const refusedFrozen = (retryAt: number, at: number, cost = 1) => [
    limit(0, '2, 10/s'),
    ...[accept(0, 'w'), start(0, 'w'), accept(1, 'x'), accept(1, 'z')],
    freeze(60, 1_000),
    reject(70, 'y', { retryAt, cost }),
    start(at, 'x'),
  ]

  test('within the lag of a freeze may include a slot that was reserved before', () => {
    expect(laws(refusedFrozen(100, 100))).toEqual([])
    expect(laws(refusedFrozen(100, 1_000))).toEqual([])
    expect(laws(refusedFrozen(1_000, 100))).toEqual([])
    expect(laws([...refusedFrozen(1_000, 100, 2), start(1_000, 'z')])).toEqual([])
    expect(laws(refusedFrozen(94, 100))).toEqual([['L1', 'y']])
    expect(laws(refusedFrozen(1_057, 1_000))).toEqual([['L1', 'y']])
    expect(laws([...refusedFrozen(100, 100, 2), start(1_000, 'z')])).toEqual([['L1', 'y']])
    expect(laws(refusedFrozen(100, 1_000), { lag: 10_000 })).toEqual([['L1', 'y']])
    expect(laws(refusedFrozen(100, 1_000), {})).toEqual([['L1', 'y']])
  })

  test('is not judged if there is room already', () => {
    const line = [limit(0, '1, 2/s'), accept(0, 'x'), start(0, 'x'), accept(10, 'p'), start(500, 'p')]
    const next = [accept(560, 'q'), start(1_000, 'q')]
    expect(laws([...line, reject(510, 'y', { retryAt: 511 }), ...next])).toEqual([])
  })

  test('is not judged while a job hit by a crash is in the line', () => {
    const line = [limit(0, '1, 2/s'), accept(0, 'x'), start(0, 'x'), accept(10, 'p')]
    const wrong = reject(200, 'y', { retryAt: 5_000 })
    const after = (at: number) => [start(at, 'p'), accept(at + 60, 'q')]
    const again = [reject(1_400, 'z', { retryAt: 5_000 }), start(1_500, 'q')]
    expect(laws([...line, crash(100, 1), wrong, start(500, 'p')])).toEqual([])
    expect(laws([...line, wrong, crash(300, 1), start(500, 'p')])).toEqual([])
    expect(laws([...line, crash(100, 1), ...after(1_000), ...again])).toEqual([['L1', 'z']])
    const expired = [...line, crash(100, 1), end(600, 'p', 'expired'), accept(1_060, 'o'), start(1_061, 'o')]
    expect(laws([...expired, accept(1_120, 'q'), ...again.slice(0, 1), start(1_600, 'q')])).toEqual([
      ['L1', 'z'],
    ])
  })
})

describe('the spacing', () => {
  test('two starts that are too close are always a breach', () => {
    expect(laws(inOrder(limit(0, '9, 10/s'), run(0, 'x'), run(94, 'y')))).toEqual([['L2', 'y']])
  })

  test('a start within the lag of a freeze may not know of it', () => {
    const frozen = (at: number) => [limit(0, '9, 10/s'), accept(0, 'x'), freeze(100, 900), start(at, 'x')]
    expect(laws(frozen(149))).toEqual([])
    expect(laws(frozen(150))).toEqual([['L2', 'x']])
    expect(laws(frozen(100), {})).toEqual([['L2', 'x']])
  })

  test('it knows of the freeze before that, however often a freeze is renewed', () => {
    const renewed = (at: number) => [
      limit(0, '9, 10/s'),
      accept(0, 'x'),
      freeze(100, 300),
      freeze(280, 900),
      start(at, 'x'),
    ]
    expect(laws(renewed(290))).toEqual([['L2', 'x']])
    expect(laws(renewed(310))).toEqual([])
    expect(laws(renewed(330))).toEqual([['L2', 'x']])
  })

  test('a start within the lag of a pause may not know of it', () => {
    const paused = (at: number) => [
      limit(0, '9, 10/s'),
      accept(0, 'x'),
      pause(100),
      start(at, 'x'),
      resume(900),
    ]
    expect(laws(paused(149))).toEqual([])
    expect(laws(paused(150))).toEqual([['L2', 'x']])
    expect(laws(paused(100), {})).toEqual([['L2', 'x']])
  })
})

describe('the rate', () => {
  const busy = { ...LAG, minUtilisation: 0.999 }
  const rule = limit(0, '99, 10/s')
  const slow = (from: (n: number) => number) =>
    Array.from({ length: 30 }, (_, n) => run(1_000 + n * 125, `j${n}`, { from: from(n) })).flat()

  test('requires a job only once it could be known', () => {
    expect(
      laws(
        inOrder(
          rule,
          slow(() => 0),
        ),
        busy,
      ),
    ).toEqual([['L3', undefined]])
    expect(
      laws(
        inOrder(
          rule,
          slow((n) => 1_000 + n * 125 - 80),
        ),
        busy,
      ),
    ).toEqual([['L3', undefined]])
    expect(
      laws(
        inOrder(
          rule,
          slow((n) => 1_000 + n * 125 - 70),
        ),
        busy,
      ),
    ).toEqual([])
  })

  test('requires nothing until the end of a freeze that a start did not know of', () => {
    const steady = Array.from({ length: 30 }, (_, n) => run(2_000 + n * 100, `j${n}`)).flat()
    const frozen = inOrder(rule, freeze(100, 2_000), run(120, 'x'), steady)
    expect(laws(frozen, busy)).toEqual([])
  })

  test('requires nothing across a crash', () => {
    const parts = (n: number) =>
      inOrder(
        rule,
        slow(() => 0),
        crash(1_000 + 15 * 125 + 1, n),
      )
    expect(laws(parts(0), busy)).toEqual([])
  })

  test('does not know since when a job hit by a crash was ready', () => {
    const streams = ['a', 'b'].flatMap((key) => [
      limit(0, '99, 10/s', key),
      ...Array.from({ length: 25 }, (_, n) =>
        run(n * 100 + (n > 12 ? 900 : 0), `${key}${n}`, { key }),
      ).flat(),
    ])
    expect(laws(inOrder(streams), busy)).toHaveLength(2)
    expect(laws(inOrder(streams, crash(1_199, 3)), busy)).toEqual([])
  })
})

describe('a crash', () => {
  const rule = limit(0, '9, 10/s')
  const line = [rule, ...['v', 'w', 'x', 'y'].map((id) => accept(0, id))]

  test('may cost the first in line their place, and no other job', () => {
    const passed = [...line, crash(10, 2), ...['x', 'v', 'y', 'w'].map((id, n) => start(100 + n * 100, id))]
    expect(laws(passed)).toEqual([])
    expect(laws(passed.filter(({ type }) => type !== 'crash'))).toEqual([
      ['L4', 'x'],
      ['L4', 'y'],
    ])
    const behind = [...line, crash(10, 2), ...['y', 'x', 'v', 'w'].map((id, n) => start(100 + n * 100, id))]
    expect(laws(behind)).toEqual([['L4', 'y']])
  })

  test('hits the first in line of each key, retries included', () => {
    const both = [
      rule,
      limit(0, '9, 10/s', 'b'),
      accept(0, 'v'),
      start(0, 'v'),
      accept(1, 'w'),
      accept(2, 'x'),
      accept(3, 'p', { key: 'b' }),
      accept(4, 'q', { key: 'b' }),
      giveBack(5, 'v', 'retry'),
    ]
    const passing = [
      start(100, 'x'),
      start(100, 'q', { key: 'b' }),
      start(200, 'w'),
      start(200, 'p', { key: 'b' }),
    ]
    expect(laws([...both, crash(10, 2), ...passing])).toEqual([])
    expect(laws([...both, crash(10, 1), ...passing])).toEqual([['L4', 'x']])
  })

  test('allows no second start', () => {
    const twice = [rule, accept(0, 'x'), crash(10, 9), crash(11, 9), start(100, 'x'), start(300, 'x')]
    expect(laws(twice)).toEqual([['L5', 'x']])
    expect(laws([...twice.slice(0, -1), fault(200, 'x'), start(300, 'x')])).toEqual([])
  })
})

describe('the audit', () => {
  const started = [limit(0, '9, 10/s'), accept(0, 'x'), accept(0, 'y'), start(10, 'x')]
  const before = { admitted: 2, waiting: 2 }
  const messages = (history: HistoryEvent[]) =>
    checkHistory(history, { ...LAG, unfinished: true }).map(({ message }) => message)

  test('may not count a start within the lag, then it must', () => {
    expect(messages([...started, audit(60, before)])).toEqual([])
    expect(messages([...started, audit(61, before)])).toEqual([
      'the audit at 0.061000 s counts 0 running, expected 1 by the history',
    ])
    expect(messages([...started, audit(60, { admitted: 2, running: 2 })])).toEqual([
      'the audit at 0.060000 s counts 2 running, expected 0 to 1 by the history',
    ])
  })

  test('may not count an end within the lag, then it must', () => {
    const ended = [...started, end(30, 'x')]
    expect(messages([...ended, audit(80, { admitted: 2, waiting: 1, running: 1 })])).toEqual([])
    expect(messages([...ended, audit(81, { admitted: 2, waiting: 1, running: 1 })])).toEqual([
      'the audit at 0.081000 s counts 0 ended, expected 1 by the history',
    ])
    expect(messages([...ended, audit(80, { admitted: 2, ended: 2 })])).toEqual([
      'the audit at 0.080000 s counts 2 ended, expected 0 to 1 by the history',
    ])
  })

  test('may still count a job that started within the lag as retrying', () => {
    const again = [...started, giveBack(20, 'x', 'retry'), start(200, 'x', { attempt: 2 })]
    expect(messages([...again, audit(250, { admitted: 2, waiting: 1, retrying: 1 })])).toEqual([])
    expect(messages([...again, audit(251, { admitted: 2, waiting: 1, retrying: 1 })])).toEqual([
      'the audit at 0.251000 s counts 0 running, expected 1 by the history',
    ])
  })

  test('counts every admission at once', () => {
    expect(messages([...started, audit(11, { admitted: 1, waiting: 1 })])).toEqual([
      'the audit at 0.011000 s counts 1 admitted, expected 2 by the history',
    ])
  })
})

test('a job that was never accepted changes nothing when it runs and ends', () => {
  expect(laws([limit(0, '1, 10/s'), start(0, 'x'), end(1, 'x'), reject(2, 'y', { retryAt: 3 })])).toEqual([
    ['L5', 'x'],
    ['L1', 'y'],
  ])
})
