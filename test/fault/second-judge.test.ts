import { describe, expect, test } from 'vitest'
import { checkHistory } from '../../src/testing.ts'
import { ALTERATIONS } from '../support/campaign/second-judge/alterations.ts'
import { judgeAgain } from '../support/campaign/second-judge/judge-again.ts'
import { heardBy } from '../support/campaign/second-judge/news.ts'
import {
  historyOf,
  KEY,
  type Pretended,
  pretendLine,
  testimonyOf,
} from '../support/campaign/second-judge/pretend-line.ts'
import type { Call, End, Finding, Start, Testimony } from '../support/campaign/second-judge/testimony.ts'
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
  const start = (at: number, id: string, attempt = 1, process = 'w'): Start => {
    return { at, process, key: KEY, id, cost: 1, attempt }
  }
  const end = (seenAt: number, id: string, outcome: End['outcome'] = 'completed') => ({
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
    moves: [],
    losses: [],
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
    ...['accepted', 'unknown'].map((answer): [string, Finding['kind'], Partial<Testimony>] => [
      `a job that overtakes one that stood before it in the same call, which is answered as ${answer}`,
      'out of order',
      {
        calls: ['a', 'b'].map((id, place) => {
          const to = answer === 'unknown' ? Number.POSITIVE_INFINITY : 1_100
          return ask(1_000, id, answer, { place, to })
        }),
        starts: [start(10 * MS, 'b'), start(110 * MS, 'a')],
        ends: [end(120 * MS, 'a'), end(20 * MS, 'b')],
      },
    ]),
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
    [
      'a job that failed and never started',
      'never started',
      { starts: calm.starts.slice(0, 1), ends: [calm.ends[0]!, end(120 * MS, 'b', 'failed')] },
    ],
    [
      'a job that failed though its cancellation was confirmed',
      'cancelled and not',
      {
        calls: [...calm.calls, ask(115 * MS, 'b', 'true', { do: 'cancel' })],
        ends: [calm.ends[0]!, end(120 * MS, 'b', 'failed')],
      },
    ],
    [
      'a job that is refused for a deadline that it would have kept',
      'refused in time',
      { calls: [...calm.calls, ask(50 * MS, 'c', 'deadline', { deadline: 1_000 * MS })] },
    ],
    [
      'a job that expires before its deadline',
      'refused in time',
      {
        calls: [calm.calls[0]!, ask(2_000, 'b', 'accepted', { deadline: 500 * MS })],
        starts: calm.starts.slice(0, 1),
        ends: [calm.ends[0]!, end(120 * MS, 'b', 'expired')],
      },
    ],
    [
      'a refusal as full after the news that there is room',
      'no order fits',
      {
        lag: 3_000 * MS,
        starts: calm.starts.map((one) => ({ ...one, heardBy: one.at + 20 * MS })),
        calls: [...calm.calls, ask(150 * MS, 'c', 'full')],
      },
    ],
    ['a job that ends twice', 'ended twice', { ends: [...calm.ends, end(130 * MS, 'a')] }],
    [
      'a start after the end of the job is known',
      'ran after its end',
      { starts: [...calm.starts, start(400 * MS, 'a')], faults: [{ at: 15 * MS, id: 'a', process: 'w' }] },
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
    ...[
      ['another process', 115, 'v'],
      ['the process before its start', 105, 'w'],
      ['the process after the second start', 220, 'w'],
    ].map(([whose, at, process]): [string, Finding['kind'], Partial<Testimony>] => [
      `a second start that a fault of ${whose} would excuse`,
      'started too often',
      {
        starts: [...calm.starts, start(215 * MS, 'b', 1, 'v')],
        ends: [end(20 * MS, 'a'), end(230 * MS, 'b')],
        faults: [{ at: Number(at) * MS, id: 'b', process: String(process) }],
      },
    ]),
    [
      'a third start where one fault excuses a second',
      'started too often',
      {
        starts: [...calm.starts, start(215 * MS, 'b', 1, 'v'), start(320 * MS, 'b', 1, 'w')],
        ends: [end(20 * MS, 'a'), end(330 * MS, 'b')],
        faults: [{ at: 115 * MS, id: 'b', process: 'w' }],
      },
    ],
    ...[4, 5].map((fence): [string, Finding['kind'], Partial<Testimony>] => [
      `a fence of ${fence} after one of 5`,
      'fence not greater',
      {
        starts: [
          { ...start(10 * MS, 'a'), fence: 5 },
          { ...start(110 * MS, 'b'), fence },
        ],
      },
    ]),
    [
      'a handler that gets other data than were asked for',
      'other data',
      {
        calls: [ask(1_000, 'a', 'accepted', { data: 'one' }), calm.calls[1]!],
        starts: [{ ...start(10 * MS, 'a'), data: 'two' }, calm.starts[1]!],
      },
    ],
    [
      'a handler that gets no data',
      'other data',
      { calls: [ask(1_000, 'a', 'accepted', { data: 'one' }), calm.calls[1]!] },
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

  const S = 1_000 * MS
  const diedLater = [{ from: 0, at: 5 * S, to: 6 * S }]
  const diedBefore = [{ from: 0, at: 100, to: 200 }]
  // Without its end, a job may be one of those that were lost; what a new job finds in the line is not known.
  const beforeDeath = planted.filter(([, kind]) => kind !== 'lost')
  const afterDeath = planted.filter(([name]) => !/refusal|refused for|expires/.test(name))

  test.each(beforeDeath)('%s, before the store dies and forgets it', (_, kind, change) => {
    const { findings } = judgeAgain({ ...calm, ...change, losses: diedLater })
    expect(findings.map((finding) => finding.kind)).toEqual([kind])
  })

  test.each(afterDeath)('%s, when the store has forgotten others', (_, kind, change) => {
    const { findings } = judgeAgain({ ...calm, ...change, losses: diedBefore })
    expect(findings.map((finding) => finding.kind)).toEqual([kind])
  })

  test('a job may expire when its slot is reserved, before its deadline', () => {
    const expiredAt = (at: number) => {
      const calls = [calm.calls[0]!, ask(2_000, 'b', 'accepted', { deadline: 500 * MS })]
      const ends = [calm.ends[0]!, end(at * MS, 'b', 'expired')]
      return judgeAgain({ ...calm, calls, starts: calm.starts.slice(0, 1), ends }).findings.map(
        ({ kind }) => kind,
      )
    }
    expect(expiredAt(190)).toEqual(['refused in time'])
    expect(expiredAt(210)).toEqual([])
  })

  test('what a store forgot may be missing or happen again, and what it had kept may not', () => {
    const found = (change: Partial<Testimony>, from: number) => {
      const losses = [{ from, at: 300 * MS, to: 310 * MS }]
      return judgeAgain({ ...calm, ...change, losses }).findings.map(({ kind }) => kind)
    }
    const granted = (at: number) => [calm.starts[0]!, start(at * MS, 'b', 1), start(900 * MS, 'b', 1)]
    const endsOf = (at: number) => [calm.ends[0]!, end((at + 5) * MS, 'b'), end(920 * MS, 'b')]
    expect(found({ starts: granted(400), ends: endsOf(400) }, 150 * MS)).not.toContain('started too often')
    expect(found({ starts: granted(650), ends: endsOf(650) }, 150 * MS)).toContain('started too often')
    const lost = { starts: calm.starts.slice(0, 1), ends: calm.ends.slice(0, 1) }
    expect(found(lost, 0)).toEqual([])
    expect(found(lost, 150 * MS)).toEqual(['lost'])
    const calls = [ask(1_500 * MS, 'a'), ask(1_501 * MS, 'b')]
    const starts = [start(1_510 * MS, 'a'), start(1_610 * MS, 'b'), start(2_010 * MS, 'b')]
    const again = { calls, starts, ends: [end(1_520 * MS, 'a'), end(2_020 * MS, 'b')] }
    const foundAgain = (from: number) => {
      const losses = [{ from, at: 1_900 * MS, to: 1_950 * MS }]
      return judgeAgain({ ...calm, ...again, losses }).findings.map(({ kind }) => kind)
    }
    expect(foundAgain(1_500 * MS)).toEqual([])
    // Its start was two seconds old when the first of what was lost was decided, and no handler takes so long.
    expect(
      judgeAgain({ ...calm, ...again, losses: [{ from: 3_200 * MS, at: 3_300 * MS, to: 3_400 * MS }] })
        .findings,
    ).toMatchObject([{ kind: 'started too often' }])
  })

  test('a job that is asked for again after a loss may have been refused before', () => {
    const losses = [{ from: 0, at: 4 * MS, to: 50 * MS }]
    // The line holds two. The answer to the first call for "c" came after the store had died.
    const calls = [...calm.calls, { ...ask(3 * MS, 'c', 'full'), to: 5 * MS }, ask(60 * MS, 'c')]
    const ends = [end(20 * MS, 'a'), end(120 * MS, 'b'), end(70 * MS, 'c', 'cancelled')]
    const cancelled = { ...ask(65 * MS, 'c', 'true'), do: 'cancel' as const }
    expect(judgeAgain({ ...calm, calls: [...calls, cancelled], ends, losses }).findings).toEqual([])
  })

  test('a job whose cancellation was forgotten may start after those behind it, and no other may', () => {
    const calls = [ask(1 * MS, 'a'), ask(2 * MS, 'b')]
    const starts = [start(210 * MS, 'b'), start(900 * MS, 'a')]
    const ends = [end(20 * MS, 'a', 'cancelled'), end(220 * MS, 'b'), end(910 * MS, 'a')]
    const found = (from: number) => {
      const losses = [{ from: from * MS, at: 300 * MS, to: 310 * MS }]
      const seen = { ...calm, calls: [...calls, { ...ask(10 * MS, 'a'), do: 'cancel' as const }] }
      return judgeAgain({ ...seen, starts, ends, losses }).findings.map(({ kind }) => kind)
    }
    expect(found(0)).toEqual([])
    expect(found(250)).toContain('out of order')
  })

  test('a deadline that may not be kept is refused rightly, as is one after the clock was moved', () => {
    const refused = (deadline: number, change: Partial<Testimony> = {}) => {
      const call = ask(50 * MS, 'c', 'deadline', { deadline: deadline * MS })
      return judgeAgain({ ...calm, ...change, calls: [...calm.calls, call] }).findings.map(({ kind }) => kind)
    }
    // "b" stands before it, whose slot is at 110 ms: it would start at 210 ms.
    expect(refused(100)).toEqual([])
    expect(refused(1_000)).toEqual(['refused in time'])
    expect(refused(1_000, { moves: [40 * MS] })).toEqual([])
  })

  test('an outage keeps the news of its own process and time, and no other', () => {
    const at = 10 * S
    const by = (path: string | undefined, from: number, until: number) =>
      heardBy(at, 'w', 3 * S, [{ ...(path && { path }), from: from * S, until: until * S }]) / S
    expect(by('w', 11, 14)).toBe(19)
    expect(by(undefined, 9, 12)).toBe(17)
    expect(by('v', 11, 14)).toBe(13)
    expect(by('w', 5, 9)).toBe(13)
    expect(by('w', 14, 16)).toBe(13)
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
