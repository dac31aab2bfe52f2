import { expect, test } from 'vitest'
import { type Limit, parseLimit } from '../../src/core/limit.ts'
import { checkHistory, type HistoryEvent, type Law } from '../../src/testing.ts'
import { judgeAgain } from '../support/campaign/second-judge/judge-again.ts'
import type { Call, End, Finding, Start, Testimony } from '../support/campaign/second-judge/testimony.ts'
import { judgeSharesWithin } from '../support/campaign/shares.ts'

const MS = 1_000
const KEYS = ['f/a', 'f/b', 'f/in/c', 'f/in/d', 'f', 'ff']
const OWN = parseLimit('9, 1000/s, tolerance 0')
const total = (text = '9, 10/s', path = 'f/') => [path, parseLimit(text, path)] as const

interface Family {
  readonly totals: readonly (readonly [string, Limit])[]
  /** The order of arrivals, a tenth of a millisecond apart. */
  readonly calls: readonly Call[]
  readonly starts: readonly Start[]
  readonly more: Partial<Testimony>
}

const ask = (id: string, key: string, atMs: number, more: Partial<Call> = {}): Call => {
  const [from, to] = [atMs * MS - 20, atMs * MS + 20]
  return { do: 'admit', key, id, cost: 1, from, to, answer: 'accepted', place: 0, ...more }
}
const ran = (id: string, key: string, atMs: number, more: Partial<Start> = {}): Start => {
  const at = atMs * MS
  return { at, process: 'w', key, id, cost: 1, attempt: 1, fence: atMs, until: at + 5 * MS, ...more }
}
/** Jobs of one family that start at these times; each is asked for at the beginning. */
const family = (starts: readonly Start[], change: Partial<Family> = {}): Family => {
  const ids = [...new Map(starts.map((one) => [one.id, one])).values()]
  const calls = ids.map(({ id, key, cost, costs }, n) =>
    ask(id, key, 1 + n / 10, { cost, ...(costs && { costs }) }),
  )
  return { totals: [total()], calls, starts, more: {}, ...change }
}

function secondOf({ totals, calls, starts, more }: Family): Finding['kind'][] {
  const last = new Map(starts.map((start) => [start.id, start]))
  const ends = [...last.values()].map(({ id, until = 0 }): End => {
    return { id, seenAt: until + 1 * MS, outcome: 'completed' }
  })
  const limits = new Map(KEYS.map((key) => [key, OWN]))
  const none = { returns: [], faults: [], crashes: [], lag: 0, moves: [], losses: [] }
  const seen = { limits, totals: new Map(totals), calls, starts, ends, ...none, ...more }
  return judgeAgain(seen).findings.map(({ kind }) => kind)
}

/** The same as the checker sees it, which knows when each call was decided, and nothing of what totals refuse. */
function historyOf({ totals, calls, starts }: Family): HistoryEvent[] {
  const limits = [...KEYS.map((key) => [key, OWN] as const), ...totals]
  const answers = calls.flatMap(({ id, key, cost, costs, from, answer }): HistoryEvent[] => {
    const asked = { type: 'answer', at: from + 20, id, key, cost, ...(costs && { costs }) } as const
    return answer === 'accepted' ? [{ ...asked, accepted: true, departsAt: from, isEstimate: true }] : []
  })
  const ran = starts.flatMap(({ until = 0, process: _, ...start }): HistoryEvent[] => [
    { type: 'start', ...start },
    { type: 'end', at: until, id: start.id, outcome: 'completed' },
  ])
  const events = [...answers, ...ran].sort((a, b) => a.at - b.at)
  return [...limits.map(([key, limit]): HistoryEvent => ({ type: 'limit', at: 0, key, limit })), ...events]
}
const firstOf = (seen: Family) => checkHistory(historyOf(seen)).map(({ law }) => law)

const calm = family([ran('a', 'f/a', 10), ran('b', 'f/b', 110), ran('c', 'f', 210)])

test('a family that keeps its total is found to keep it, by both judges', () => {
  const late = [ran('a', 'f/a', 10), ran('b', 'f/b', 115), ran('c', 'f/in/c', 210), ran('x', 'ff', 211)]
  for (const seen of [calm, family(late), family(late, { totals: [total(), total('9, 20/s', 'f/in/')] })]) {
    expect(secondOf(seen)).toEqual([])
    expect(firstOf(seen)).toEqual([])
  }
})

test.each<[string, Finding['kind'], Law, Family]>([
  [
    'two keys of a family that start together',
    'too early',
    'L2',
    family([ran('a', 'f/a', 10), ran('b', 'f/b', 50)]),
  ],
  [
    'the key before the slash, which belongs to it',
    'too early',
    'L2',
    family([ran('a', 'f/a', 10), ran('b', 'f', 50)]),
  ],
  [
    'starts that use up the tolerance of the total time and again',
    'too early',
    'L2',
    family([ran('a', 'f/a', 10), ran('b', 'f/b', 102), ran('c', 'f/a', 194)]),
  ],
  [
    'what an inner total lets start, and the outer one does not',
    'too early',
    'L2',
    family([ran('a', 'f/in/c', 10), ran('b', 'f/in/d', 60)], {
      totals: [total(), total('9, 20/s', 'f/in/')],
    }),
  ],
  [
    'what the outer total lets start, and an inner one does not',
    'too early',
    'L2',
    family([ran('a', 'f/in/c', 10), ran('b', 'f/in/d', 60)], {
      totals: [total('9, 20/s'), total('9, 10/s', 'f/in/')],
    }),
  ],
  [
    'more than the quota of a total',
    'over a quota',
    'L10',
    family([ran('a', 'f/a', 10), ran('b', 'f/b', 110), ran('c', 'f', 210)], {
      totals: [total('9, 10/s, 2/1s')],
    }),
  ],
  [
    'more tokens than the quota of a total has',
    'over a quota',
    'L10',
    family([ran('a', 'f/a', 10, { costs: { tokens: 3 } }), ran('b', 'f/b', 110)], {
      totals: [total('9, 10/s, 5 tokens/1s 3 each')],
    }),
  ],
  [
    'more at once than a total has places',
    'too many at once',
    'L11',
    family([ran('a', 'f/a', 10, { until: 130 * MS }), ran('b', 'f/b', 110)], {
      totals: [total('9, 10/s, 1 at once')],
    }),
  ],
  [
    'more that wait than a total holds',
    'too many wait',
    'L1',
    family([...calm.starts, ran('d', 'f/a', 310)], { totals: [total('3, 10/s')] }),
  ],
])('of a total: %s', (_, kind, law, seen) => {
  expect(secondOf(seen)).toEqual([kind])
  expect(firstOf(seen)).toEqual([law])
  // What breaks it before the store dies is no less wrong.
  const died = { losses: [{ from: 0, at: 5_000 * MS, to: 6_000 * MS }] }
  expect(secondOf({ ...seen, more: died })).toContain(kind)
  // A start too early is never excused.
  const forgotten = { losses: [{ from: 0, at: 5 * MS, to: 6 * MS }] }
  if (kind === 'too early') expect(secondOf({ ...seen, more: forgotten })).toContain(kind)
})

test('a line that waits below a total may be left before it is answered for, and a retry comes on top', () => {
  const four = family([...calm.starts, ran('d', 'f/a', 310)], { totals: [total('3, 10/s')] })
  // The call for the last one may have been decided after the first start.
  const slow = four.calls.map((call) => (call.id === 'd' ? { ...call, to: 12 * MS } : call))
  expect(secondOf({ ...four, calls: slow })).toEqual([])
  const cancelled = ask('b', 'f/b', 1.25, { do: 'cancel', answer: 'false' })
  expect(secondOf({ ...four, calls: [...four.calls, cancelled] })).toEqual([])
  const retried = family([...calm.starts, ran('a', 'f/a', 310, { attempt: 2 })], {
    totals: [total('3, 10/s')],
    more: { returns: [{ id: 'a', seenAt: 16 * MS, isFreeze: false }] },
  })
  expect(secondOf(retried)).toEqual([])
})

test('a total refuses what has no room below it, or more than four times what is left, and nothing else', () => {
  // Of three that wait below it two are of "f/a".
  const three = [ran('a', 'f/a', 10), ran('b', 'f/b', 110), ran('c', 'f/a', 210)]
  const refused = (key: string, cost: number, capacity: number, atMs = 5, answer = 'full at f/') => {
    const { calls } = family(three)
    return secondOf(
      family(three, {
        totals: [total(`${capacity}, 10/s`)],
        calls: [...calls, ask('x', key, atMs, { cost, answer })],
      }),
    )
  }
  expect(refused('f/b', 1, 3)).toEqual([])
  expect(refused('f/b', 1, 4)).toEqual(['refused with room'])
  expect(refused('f/a', 3, 6)).toEqual(['refused with room'])
  expect(refused('f/a', 3, 4)).toEqual([])
  expect(refused('f/b', 4, 7)).toEqual(['refused with room'])
  expect(refused('f/b', 5, 7)).toEqual([])
  // Of its own line, which is empty, the key says nothing there.
  expect(refused('f/b', 1, 3, 5, 'full')).toEqual(['no order fits'])
  // The first has started, and the line must know it.
  expect(refused('f/b', 1, 3, 50)).toEqual(['refused with room'])
})

test('of a child that is a family the whole line counts', () => {
  const starts = [
    ran('a', 'f/in/c', 10),
    ran('b', 'f/in/d', 110),
    ran('c', 'f/in/c', 210),
    ran('d', 'f/in/d', 310),
  ]
  const inner = total('99, 10/s', 'f/in/')
  const refused = (key: string, capacity: number) =>
    secondOf(
      family(starts, {
        totals: [total(`${capacity}, 10/s`), inner],
        calls: [...family(starts).calls, ask('x', key, 5, { answer: 'full at f/' })],
      }),
    )
  // One unit is left: four of the inner family, and one more, are more than four times that.
  expect(refused('f/in/c', 5)).toEqual([])
  expect(refused('f/in/c', 6)).toEqual(['refused with room'])
  expect(refused('f/a', 5)).toEqual(['refused with room'])
})

test('a total may make the line of a key certainly late', () => {
  const three = [ran('a', 'f/a', 10), ran('b', 'f/a', 110), ran('c', 'f/a', 210)]
  const refused = (deadlineMs: number) =>
    secondOf(
      family(three, {
        calls: [
          ...family(three).calls,
          ask('x', 'f/a', 5, { answer: 'deadline', deadline: deadlineMs * MS }),
        ],
      }),
    )
  // By its own limit it would start within a few milliseconds, and below the total behind three others.
  expect(refused(250)).toEqual([])
  expect(refused(2_000)).toEqual(['refused in time'])
})

test('shares are judged within a time, and a flood that goes past another child is found', () => {
  const every = (key: (n: number) => string) =>
    Array.from({ length: 120 }, (_, n) => ran(`j${n}`, key(n), 100 + n * 100))
  const limits = { totals: [total('999, 10/s')] }
  const shared = historyOf(
    family(
      every((n) => ['f/a', 'f/b'][n % 2]!),
      limits,
    ),
  )
  const hogged = historyOf(
    family(
      every((n) => (n < 60 ? 'f/a' : 'f/b')),
      limits,
    ),
  )
  const unfair = (history: readonly HistoryEvent[], fromMs: number, untilMs: number, stoodForMs = 0) =>
    judgeSharesWithin(history, fromMs * MS, untilMs * MS, stoodForMs * MS).map((breach) => breach.key)
  expect(unfair(shared, 0, 20_000)).toEqual([])
  expect(new Set(unfair(hogged, 0, 20_000))).toEqual(new Set(['f/a']))
  // A second of each may have been handed over, and a job of each started.
  expect(unfair(hogged, 0, 2_300)).toEqual([])
  expect(unfair(hogged, 0, 2_500)).not.toEqual([])
  expect(unfair(hogged, 3_500, 5_800)).toEqual([])
  expect(unfair(hogged, 3_500, 6_000)).not.toEqual([])
  expect(unfair(hogged, 3_500, 6_000, 1_000)).toEqual([])
})
