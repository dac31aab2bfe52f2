import { describe, expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import type { Quota } from '../../../src/core/quota.ts'
import { breakersOf } from '../../support/breakers.ts'
import {
  accept,
  end,
  fault,
  giveBack,
  inOrder,
  limit,
  quota,
  run,
  settle,
  start,
} from '../../support/history.ts'

/** Fast enough that the pace forbids nothing. */
const FAST = '9000, 1000/s, tolerance 0'
const ruled = (at: number, ...quotas: Quota[]) => limit(at, FAST, 'a', { quotas })
const US = 0.001

const broken = breakersOf('L10')

describe('a rolling quota', () => {
  const three = [ruled(0, quota(3, 1_000)), run(0, 'w'), run(10, 'x'), run(20, 'y')].flat()

  test('holds its amount in each window, to the microsecond', () => {
    expect(broken([...three, ...run(1_000, 'z')])).toEqual([])
    expect(broken([...three, ...run(1_000 - US, 'z')])).toEqual(['z'])
    expect(broken([...three, ...run(1_000, 'z'), ...run(1_010 - US, 'p')])).toEqual(['p'])
    expect(broken([...three, ...run(1_000, 'z'), ...run(1_010, 'p'), ...run(1_020, 'q')])).toEqual([])
  })

  test('is exact at the present epoch, too', () => {
    const epoch = 1_790_000_000_000
    const at = (z: number) => {
      return [
        ruled(epoch, quota(1, 86_400_000)),
        ...run(epoch + 0.25, 'x', { from: epoch }),
        ...run(epoch + z, 'z', { from: epoch }),
      ]
    }
    expect(broken(at(86_400_000.25))).toEqual([])
    expect(broken(at(86_400_000.249))).toEqual(['z'])
  })

  test('says how much started', () => {
    const [breach] = checkHistory(inOrder(three, run(900, 'z', { cost: 2 })), { unfinished: true })
    expect(breach).toEqual({
      law: 'L10',
      at: 900_000,
      key: 'a',
      id: 'z',
      message:
        'key "a": the start of job "z" at 0.900000 s made 5 cost units start within 1000.000 ms, 3 before it, ' +
        'expected at most 3',
    })
  })

  test('counts the cost, and one unit too much', () => {
    const costly = (cost: number) => [
      ruled(0, quota(5, 1_000)),
      ...run(0, 'x', { cost: 3 }),
      ...run(500, 'y', { cost }),
    ]
    expect(broken(costly(2))).toEqual([])
    expect(broken(costly(3))).toEqual(['y'])
  })

  test('counts retries and starts after a freeze again', () => {
    const again = (attempt: number, reason: 'retry' | 'freeze') => [
      ruled(0, quota(1, 1_000)),
      accept(0, 'x'),
      start(0, 'x'),
      giveBack(5, 'x', reason),
      start(999, 'x', { attempt }),
    ]
    expect(broken(again(2, 'retry'))).toEqual(['x'])
    expect(broken(again(1, 'freeze'))).toEqual(['x'])
  })

  test('counts a start that a fault hit', () => {
    const hit = [ruled(0, quota(1, 1_000)), accept(0, 'x'), start(0, 'x'), fault(10, 'x')]
    expect(broken([...hit, start(999, 'x')])).toEqual(['x'])
    expect(broken([...hit, start(1_000, 'x')])).toEqual([])
  })

  test('is of one key', () => {
    const other = [limit(0, FAST, 'b', { quotas: [quota(1, 1_000)] }), ...run(30, 'p', { key: 'b' })]
    expect(broken([...three, ...other])).toEqual([])
    expect(broken([...three, ...other, ...run(40, 'q', { key: 'b' })])).toEqual(['q'])
  })

  test('is judged by the clock that handlers read', () => {
    const read = (readAt: number) => [
      ruled(0, quota(1, 1_000)),
      accept(0, 'x'),
      start(0, 'x', { readAt: 3 }),
      accept(0, 'y'),
      start(1_010, 'y', { readAt }),
    ]
    expect(broken(read(1_003))).toEqual([])
    expect(broken(read(1_003 - US))).toEqual(['y'])
  })

  test('judges a start that was read as earlier than the one before it in both of their windows', () => {
    const read = (z: number, y: number) => [
      ruled(0, quota(2, 1_000)),
      ...[accept(0, 'w'), start(0, 'w'), accept(0, 'x'), start(900, 'x')],
      ...[accept(0, 'y'), start(1_006, 'y', { readAt: y })],
      ...[accept(0, 'z'), start(1_007, 'z', { readAt: z })],
    ]
    const l10 = (history: HistoryEvent[]) =>
      checkHistory(history, { unfinished: true }).flatMap(({ law, id }) => (law === 'L10' ? [id] : []))
    // z shares the window of y, though it comes first.
    expect(l10(inOrder(read(1_003, 1_005)))).toEqual(['z'])
    // z itself looks back as far as w.
    expect(l10(inOrder(read(999, 1_901)))).toEqual(['z'])
    expect(l10(inOrder(read(1_000, 1_901)))).toEqual([])
  })

  test('lets a job above a lowered amount start when nothing else counts, and then nothing else', () => {
    const lowered = (big: number, next: number) => [
      ruled(0, quota(9, 1_000)),
      ...run(0, 'x'),
      accept(0, 'big', { cost: 5 }),
      ruled(100, quota(3, 1_000)),
      start(big, 'big', { cost: 5 }),
      ...run(next, 'y'),
    ]
    expect(broken(lowered(1_000, 2_000))).toEqual([])
    expect(broken(lowered(1_000 - US, 2_000))).toEqual(['big'])
    expect(broken(lowered(1_000, 2_000 - US))).toEqual(['y'])
  })

  test('holds beside others: a quota of the minute does not excuse that of the day', () => {
    const both = [ruled(0, quota(2, 1_000), quota(3, 10_000)), ...run(0, 'w'), ...run(1, 'x')]
    expect(broken([...both, ...run(1_001, 'y')])).toEqual([])
    expect(broken([...both, ...run(1_001, 'y'), ...run(2_500, 'z')])).toEqual(['z'])
    expect(broken([...both, ...run(1_001, 'y'), ...run(10_000, 'z')])).toEqual([])
  })
})

describe('a quota with a unit', () => {
  const tokens = ruled(0, quota(1_000, 1_000, 'tokens', 400))
  const named = (id: string, at: number, amount?: number) => {
    const costs = amount === undefined ? {} : { costs: { tokens: amount } }
    return [accept(0, id, costs), start(at, id)]
  }

  test('counts what the answer names, or what the rule has for each', () => {
    expect(broken([tokens, ...named('x', 0), ...named('y', 10, 600)])).toEqual([])
    expect(broken([tokens, ...named('x', 0), ...named('y', 10, 601)])).toEqual(['y'])
    expect(broken([tokens, ...named('x', 0), ...named('y', 10), ...named('z', 20)])).toEqual(['z'])
  })

  test('counts what the start names, where it names it', () => {
    const own = [accept(0, 'x', { costs: { tokens: 1 } }), start(0, 'x', { costs: { tokens: 900 } })]
    expect(broken([tokens, ...own, ...named('y', 10, 100)])).toEqual([])
    expect(broken([tokens, ...own, ...named('y', 10, 101)])).toEqual(['y'])
  })

  test('counts what was settled from that moment on', () => {
    const settled = (at: number) => [
      tokens,
      ...named('x', 0, 900),
      settle(at, 'x', { tokens: 500 }),
      ...named('y', 20, 500),
    ]
    expect(broken(settled(19))).toEqual([])
    expect(broken(settled(21))).toEqual(['y'])
  })

  test('that is settled higher is overdrawn, which breaks nothing, and the next start waits', () => {
    const overdrawn = [
      tokens,
      ...named('x', 0, 500),
      ...named('y', 100, 500),
      settle(200, 'x', { tokens: 700 }),
    ]
    expect(broken(overdrawn)).toEqual([])
    expect(broken([...overdrawn, ...named('z', 999, 1)])).toEqual(['z'])
    expect(broken([...overdrawn, ...named('z', 1_000, 500)])).toEqual([])
  })

  test('counts more that was settled within the lag only afterwards, and less at once', () => {
    const more = (z: number) => [
      tokens,
      ...named('x', 0, 100),
      settle(200, 'x', { tokens: 900 }),
      ...named('z', z, 101),
    ]
    const lag = { lag: 50_000 }
    expect(broken(more(249), lag)).toEqual([])
    expect(broken(more(250), lag)).toEqual(['z'])
    expect(broken(more(201))).toEqual(['z'])
    const less = [tokens, ...named('x', 0, 900), settle(200, 'x', { tokens: 0 }), ...named('z', 201, 1_000)]
    expect(broken(less, lag)).toEqual([])
  })

  test('ignores units of which it has no quota', () => {
    expect(
      broken([tokens, ...named('x', 0, 900), settle(1, 'x', { images: 0 }), ...named('y', 2, 101)]),
    ).toEqual(['y'])
  })

  test('a start that has left the window settles nothing', () => {
    const long = [tokens, ...named('x', 0, 900), ...named('y', 1_000, 600), settle(1_500, 'x', { tokens: 0 })]
    expect(broken([...long, ...named('z', 1_600, 400)])).toEqual([])
    expect(broken([...long, ...named('z', 1_600, 401)])).toEqual(['z'])
  })
})

describe('a settling', () => {
  const tokens = ruled(0, quota(1_000, 9_000, 'tokens', 400))
  const ran = [tokens, accept(0, 'x'), start(0, 'x', { fence: 1 })]
  const next = [accept(0, 'y', { costs: { tokens: 700 } }), start(500, 'y', { fence: 9 })]

  test('counts once for each start', () => {
    const first = [...ran, settle(10, 'x', { tokens: 300 }, { fence: 1 })]
    expect(broken([...first, ...next])).toEqual([])
    // The second is a breach, and what it would have freed still counts.
    expect(
      broken([
        ...first.slice(0, -1),
        settle(10, 'x', { tokens: 301 }),
        settle(11, 'x', { tokens: 0 }),
        ...next,
      ]),
    ).toEqual(['x', 'y'])
  })

  test('counts for the next attempt anew', () => {
    const again = [giveBack(20, 'x', 'retry'), start(30, 'x', { attempt: 2, fence: 2 })]
    const both = [
      ...ran,
      settle(10, 'x', { tokens: 200 }),
      ...again,
      settle(40, 'x', { tokens: 100 }, { fence: 2 }),
    ]
    expect(broken([...both, ...next])).toEqual([])
  })

  test('with the fence of an earlier start is a breach, and frees nothing', () => {
    const twice = [...ran, fault(10, 'x'), start(20, 'x', { fence: 2 })]
    const stale = [...twice, settle(30, 'x', { tokens: 0 }, { fence: 1 })]
    expect(broken(stale)).toEqual(['x'])
    expect(checkHistory(stale, { unfinished: true })[0]?.message).toBe(
      'key "a": job "x" settled 0 "tokens" at 0.030000 s by fence 1, expected that of its last start, 2',
    )
    expect(broken([...stale, ...next])).toEqual(['x', 'y'])
    expect(broken([...twice, settle(30, 'x', { tokens: 0 }, { fence: 2 })])).toEqual([])
  })

  test('after the end or before a start is a breach', () => {
    const late = [...ran, end(10, 'x'), settle(11, 'x', { tokens: 0 }), ...next]
    expect(broken(late)).toEqual(['x', 'y'])
    expect(broken(late, { lag: 1_000 })).toEqual([])
    expect(broken([...ran, giveBack(10, 'x', 'retry', 9_999), settle(11, 'x', { tokens: 0 })])).toEqual(['x'])
    expect(broken([tokens, accept(0, 'x'), settle(1, 'x', { tokens: 0 })])).toEqual(['x'])
  })

  test('of a turn without a place comes after its end, once, and counts', () => {
    const turn = [tokens, accept(0, 'x'), start(0, 'x', { isHeld: false }), end(0, 'x')]
    const settled = [...turn, settle(100, 'x', { tokens: 300 }), ...next]
    expect(broken(settled)).toEqual([])
    expect(broken([...turn, ...next])).toEqual(['y'])
    expect(broken([...settled, settle(600, 'x', { tokens: 0 })])).toEqual(['x'])
    const held = [tokens, accept(0, 'x'), start(0, 'x', { isHeld: true }), end(0, 'x')]
    expect(broken([...held, settle(100, 'x', { tokens: 300 }), ...next])).toEqual([])
  })

  test('of an attempt that a fault hit counts until the job starts again', () => {
    expect(broken([...ran, fault(10, 'x'), settle(11, 'x', { tokens: 300 }), ...next])).toEqual([])
  })
})
