import { describe, expect, test } from 'vitest'
import { checkHistory } from '../../src/testing.ts'
import { ALTERATIONS } from '../support/campaign/second-judge/alterations.ts'
import { judgeAgain } from '../support/campaign/second-judge/judge-again.ts'
import {
  historyOf,
  KEY,
  type Pretended,
  pretendLine,
  testimonyOf,
} from '../support/campaign/second-judge/pretend-line.ts'
import type { Call, Finding, Start, Testimony } from '../support/campaign/second-judge/testimony.ts'
import { Draws } from '../support/campaign/seeded/draws.ts'

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed + 1)

/** The first judge also holds the line to the times that it promised, of which the second knows nothing. */
const breachesOf = (line: Pretended) =>
  checkHistory(historyOf(line)).filter(({ message }) => !message.includes('was asked to retry'))

test('histories that keep every law are found to keep them, by both judges', () => {
  for (const seed of SEEDS) {
    const line = pretendLine(seed)
    expect([seed, judgeAgain(testimonyOf(line))]).toEqual([seed, { findings: [], undecided: [] }])
    expect([seed, breachesOf(line)]).toEqual([seed, []])
  }
})

describe('what no line that keeps the laws can do', () => {
  const MS = 1_000
  const INTERVAL = 100 * MS
  const ask = (at: number, id: string, answer = 'accepted', more: Partial<Call> = {}): Call => {
    return { do: 'admit', key: KEY, id, cost: 1, from: at - 100, to: at + 100, answer, place: 0, ...more }
  }
  const start = (at: number, id: string, attempt = 1): Start => ({ at, key: KEY, id, cost: 1, attempt })
  const end = (seenAt: number, id: string, outcome: 'completed' | 'cancelled' = 'completed') => ({
    seenAt,
    id,
    outcome,
  })
  /** Two jobs wait, start and end as they should. */
  const calm = {
    limits: new Map([[KEY, { capacity: 2, interval: INTERVAL, tolerance: 5 * MS }]]),
    calls: [ask(1_000, 'a'), ask(2_000, 'b')],
    starts: [start(10 * MS, 'a'), start(110 * MS, 'b')],
    returns: [],
    ends: [end(20 * MS, 'a'), end(120 * MS, 'b')],
    faults: [],
    crashes: [],
    lag: 0,
    isLossy: false,
  } satisfies Testimony

  test('nothing is found in the calm history that the others are made from', () => {
    expect(judgeAgain(calm)).toEqual({ findings: [], undecided: [] })
  })

  const planted: readonly [string, Finding['kind'], Partial<Testimony>][] = [
    [
      'a start before the interval is over',
      'too early',
      { starts: [start(10 * MS, 'a'), start(104.9 * MS, 'b')] },
    ],
    [
      'three starts of which each keeps its distance from the one before, and not from the rate',
      'too early',
      {
        calls: [...calm.calls, ask(50 * MS, 'c')],
        starts: [start(10 * MS, 'a'), start(105.5 * MS, 'b'), start(201 * MS, 'c')],
        ends: [...calm.ends, end(210 * MS, 'c')],
      },
    ],
    [
      'a job that overtakes one that was surely admitted before it',
      'out of order',
      { starts: [start(10 * MS, 'b'), start(110 * MS, 'a')], ends: [end(120 * MS, 'a'), end(20 * MS, 'b')] },
    ],
    [
      'one job more than the line holds',
      'no order fits',
      {
        calls: [...calm.calls, ask(3_000, 'c')],
        starts: [...calm.starts, start(210 * MS, 'c')],
        ends: [...calm.ends, end(220 * MS, 'c')],
      },
    ],
    [
      'a refusal though there is room',
      'no order fits',
      { calls: [...calm.calls, ask(150 * MS, 'c', 'full')] },
    ],
    [
      'a retry whose place was given away',
      'no order fits',
      {
        // "a" fails and waits again behind nothing; "b" and "c" wait as well, so "d" does not fit.
        calls: [...calm.calls, ask(11 * MS, 'c'), ask(30 * MS, 'd')],
        starts: [10, 110, 210, 310, 410].map((at, n) => start(at * MS, 'abcda'[n]!, n === 4 ? 2 : 1)),
        returns: [{ seenAt: 12 * MS, id: 'a', isFreeze: false }],
        ends: [end(420 * MS, 'a'), end(120 * MS, 'b'), end(220 * MS, 'c'), end(320 * MS, 'd')],
      },
    ],
    [
      'an accepted job without an end',
      'lost',
      { starts: calm.starts.slice(0, 1), ends: calm.ends.slice(0, 1) },
    ],
    ['a job that is completed and never started', 'never started', { starts: calm.starts.slice(0, 1) }],
    ['a job that ends twice', 'ended twice', { ends: [...calm.ends, end(130 * MS, 'a')] }],
    [
      'a start after the end of the job is known',
      'ran after its end',
      { starts: [...calm.starts, start(400 * MS, 'a')], faults: [{ at: 15 * MS, id: 'a' }] },
    ],
    [
      'a job that no producer asked for',
      'never asked for',
      { starts: [...calm.starts, start(400 * MS, 'x')], ends: [...calm.ends, end(410 * MS, 'x')] },
    ],
    [
      'a job that runs though every answer was a refusal',
      'ran though refused',
      {
        calls: [...calm.calls, ask(3_000, 'c', 'full')],
        starts: [...calm.starts, start(400 * MS, 'c')],
        ends: [...calm.ends, end(410 * MS, 'c')],
      },
    ],
    [
      'a second start of an attempt that no process failed in',
      'started too often',
      { starts: [...calm.starts, start(215 * MS, 'b')], ends: [end(20 * MS, 'a'), end(230 * MS, 'b')] },
    ],
    [
      'a start after the cancellation was confirmed',
      'cancelled and not',
      { calls: [...calm.calls, ask(50 * MS, 'b', 'true', { do: 'cancel' })] },
    ],
    [
      'a cancellation that was denied and happened',
      'cancelled and not',
      {
        calls: [...calm.calls, ask(50 * MS, 'b', 'false', { do: 'cancel' })],
        starts: calm.starts.slice(0, 1),
        ends: [calm.ends[0]!, end(60 * MS, 'b', 'cancelled')],
      },
    ],
  ]

  test.each(planted)('%s', (_, kind, change) => {
    const { findings } = judgeAgain({ ...calm, ...change })
    expect(findings.map((finding) => finding.kind)).toEqual([kind])
  })

  test('an answer that was lost is taken for either, whichever fits', () => {
    const lost = ask(3_000, 'c', 'unknown', { to: Number.POSITIVE_INFINITY })
    expect(judgeAgain({ ...calm, calls: [...calm.calls, lost] }).findings).toEqual([])
    const ran = { starts: [...calm.starts, start(210 * MS, 'c')], ends: [...calm.ends, end(220 * MS, 'c')] }
    expect(judgeAgain({ ...calm, calls: [...calm.calls, lost], ...ran }).findings).toEqual([])
  })

  test('a job that a failed process held may be overtaken, and one behind it may not', () => {
    const calls = [ask(1_000, 'a'), ask(2_000, 'b'), ask(3_000, 'c')]
    const ends = [end(320 * MS, 'a'), end(220 * MS, 'b'), end(120 * MS, 'c')]
    const starts = [start(110 * MS, 'c'), start(210 * MS, 'b'), start(310 * MS, 'a')]
    const limits = new Map([[KEY, { capacity: 9, interval: INTERVAL, tolerance: 0 }]])
    const found = (handed: number) =>
      judgeAgain({ ...calm, limits, calls, starts, ends, crashes: [{ at: 5 * MS, handed }] }).findings
    expect(found(2)).toEqual([])
    expect(found(1)).toMatchObject([{ kind: 'out of order', id: 'b' }])
  })
})

test('both judges agree on histories that were altered at random, but for what only one of them can know', () => {
  const tally = new Map<string, [both: number, neither: number, onlyFirst: number, onlySecond: number]>()
  for (const seed of SEEDS) {
    for (const [name, { alter, onlyFirstMayKnow = false }] of Object.entries(ALTERATIONS)) {
      const line = pretendLine(seed)
      if (!alter(line, new Draws(seed))) continue
      const first = breachesOf(line)
      const { findings, undecided } = judgeAgain(testimonyOf(line))
      expect([name, seed, undecided]).toEqual([name, seed, []])
      const counts = tally.get(name) ?? [0, 0, 0, 0]
      tally.set(name, counts)
      const found = [first.length > 0, findings.length > 0] as const
      counts[found[0] === found[1] ? (found[0] ? 0 : 1) : found[0] ? 2 : 3] += 1
      const mayDiffer = found[0] && onlyFirstMayKnow
      if (found[0] !== found[1] && !mayDiffer)
        expect([name, seed, first, findings]).toBe('the same verdict of both')
    }
  }
  const rows = [...tally].map(([name, [both, neither, first, second]]) =>
    [name.padEnd(34), both, neither, first, second].join('\t'),
  )
  console.info([`${'alteration'.padEnd(34)}\tboth\tneither\tfirst\tsecond`, ...rows].join('\n'))
  for (const [name, [both]] of tally) expect([name, both]).not.toEqual([name, 0])
})
