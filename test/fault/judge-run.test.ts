import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { HistoryFile, type HistoryRecord } from '../support/campaign/history-file.ts'
import { judgeRun } from '../support/campaign/seeded/judge-run.ts'
import type { SeededPlan } from '../support/campaign/seeded/plan.ts'
import { accept, end, giveBack, reject, start } from '../support/history.ts'

const PLAN: SeededPlan = {
  seed: 1,
  subject: 'a test',
  store: { kind: 'single', fsync: 'always' },
  limit: '5, 10/s',
  limits: {},
  keys: ['a'],
  producers: [{ name: 'p', jobs: 1 }],
  workers: [{}],
  armed: [],
  faults: [],
}

type Event = (HistoryRecord & { kind: 'event' })['event']
const seen = (event: Event): HistoryRecord => {
  return { kind: 'event', clock: 'host', event, seenAt: event.at + 100 }
}
const disturbed = (fromMs: number, untilMs: number, path?: string): HistoryRecord => {
  return { kind: 'disturbed', from: fromMs * 1_000, until: untilMs * 1_000, ...(path && { path }) }
}

/** A job is asked for at 1 ms, starts at 10 ms, and ends at 20 ms. */
const PRODUCER: readonly HistoryRecord[] = [
  { kind: 'clock', at: 0, store: 0, roundTrip: 10 },
  { kind: 'asked', at: 1_000, call: 1, asked: [{ do: 'admit', id: 'p-a-0', key: 'a', cost: 1 }] },
  { kind: 'answered', at: 2_000, call: 1, answers: ['accepted'] },
  seen(accept(1.5, 'p-a-0')),
]
const WORKER: readonly HistoryRecord[] = [seen(start(10, 'p-a-0')), seen(end(20, 'p-a-0'))]

function judged(
  records: {
    campaign?: (folder: string) => HistoryRecord[]
    producer?: readonly HistoryRecord[]
    worker?: readonly HistoryRecord[]
  },
  mostStates?: number,
  plan = PLAN,
) {
  const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-judge-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (name: string, all: readonly HistoryRecord[]) => {
    const file = new HistoryFile(join(folder, `${name}.jsonl`))
    for (const record of all) file.write(record)
  }
  write('campaign', records.campaign?.(folder) ?? [])
  write('producer-0', records.producer ?? PRODUCER)
  write('worker-0', records.worker ?? WORKER)
  return judgeRun(plan, folder, mostStates)
}

test('a calm run is green', () => {
  expect(judged({}).breaches).toEqual([])
})

test('a run that the second judge cannot decide is red', () => {
  expect(judged({}, 0).breaches).toEqual([expect.stringContaining('second judge: undecided: ')])
})

test('a run whose only breach hangs on a time that fits two moments is undecided, and one with another breach is red', () => {
  // Set back by 30 s at 60 s: the acceptance may have come before the start at 70 s, or after it.
  const campaign = () => [{ kind: 'moved', at: 60_000_000, by: -30_000_000 } as const]
  const accepted = (askedMs: number): HistoryRecord[] => [
    PRODUCER[0]!,
    {
      kind: 'asked',
      at: askedMs * 1_000,
      call: 1,
      asked: [{ do: 'admit', id: 'p-a-0', key: 'a', cost: 1 }],
    },
    { kind: 'event', clock: 'store', event: accept(59_500, 'p-a-0'), seenAt: 95_000_000 },
    { kind: 'answered', at: 95_000_000, call: 1, answers: ['accepted'] },
  ]
  const worker = [seen(start(70_000, 'p-a-0')), seen(end(70_100, 'p-a-0'))]
  expect(judged({ campaign, producer: accepted(10_000), worker })).toMatchObject({
    breaches: [],
    isUndecided: true,
  })
  // Asked after the start: only one moment fits.
  const late = judged({ campaign, producer: accepted(80_000), worker })
  expect(late).toMatchObject({ isUndecided: false })
  expect(late.breaches).toContainEqual(expect.stringContaining('checker: L5'))
  const twice = [...worker, seen(start(70_200, 'p-a-0'))]
  const other = judged({ campaign, producer: accepted(10_000), worker: twice })
  expect(other).toMatchObject({ isUndecided: false })
  expect(other.breaches).toContainEqual(expect.stringContaining('checker: L5'))
})

test('a start is news to the line for longer where its process was held up, by its own record, and nowhere else', () => {
  // With room for one job, the second is refused 4.5 s after the first has started.
  const refused = (worker: readonly HistoryRecord[]) =>
    judged(
      {
        producer: [
          ...PRODUCER,
          { kind: 'asked', at: 4_500_000, call: 2, asked: [{ do: 'admit', id: 'p-a-1', key: 'a', cost: 1 }] },
          { kind: 'answered', at: 4_520_000, call: 2, answers: ['full'] },
          seen(reject(4_510, 'p-a-1', { retryAt: 4_610 })),
        ],
        worker,
      },
      undefined,
      { ...PLAN, limit: '1, 10/s' },
    ).breaches
  const pulse = (...secondsOf: number[]): HistoryRecord[] =>
    secondsOf.map((at) => ({ kind: 'clock', at: at * 1e6, store: at * 1e6, roundTrip: 10 }))
  const [began, ended] = [seen(start(10, 'p-a-0')), seen(end(5_500, 'p-a-0'))]
  const breach = [
    expect.stringContaining('checker: L1'),
    expect.stringContaining('second judge: no order fits'),
    expect.stringContaining('around the first of them'),
  ]
  expect(refused([...pulse(0, 1, 2, 3, 4, 5), began, ended])).toEqual(breach)
  expect(refused([...pulse(0), began, ...pulse(5.4), ended])).toEqual([])
  // Before the start, and in another process.
  expect(refused([...pulse(-9, 0, 1, 2, 3, 4, 5), began, ended])).toEqual(breach)
})

test('a run is idle unless what was done met a job', () => {
  const idle = (...spans: [fromMs: number, untilMs: number, name?: string][]) =>
    judged({
      campaign: (folder) =>
        spans.map(([from, until, name]) => disturbed(from, until, name && join(folder, `${name}.jsonl`))),
    }).isIdle
  expect(idle()).toBe(true)
  expect(idle([30, 40], [0, 1])).toBe(true)
  expect(idle([30, 40], [15, 40])).toBe(false)
  expect(idle([5, 6, 'worker-0'])).toBe(false)
  expect(idle([30, 40, 'worker-0'])).toBe(true)
  // A producer without another question, and one that waits for an answer.
  expect(idle([5, 6, 'producer-0'])).toBe(true)
  expect(idle([1, 6, 'producer-0'])).toBe(false)
})

test('a run that exceeds its total is red for both judges, and what a total refuses is not held against the key', () => {
  const plan = { ...PLAN, limits: { 'f/': '1, 10/s' }, keys: ['f/a', 'f/b'] }
  const asked = (call: number, at: number, key: string, id: string, answer: string): HistoryRecord[] => [
    { kind: 'asked', at: at * 1_000, call, asked: [{ do: 'admit', id, key, cost: 1 }] },
    { kind: 'answered', at: (at + 1) * 1_000, call, answers: [answer] },
  ]
  const clock = PRODUCER[0]!
  const of = (key: string) => ({ key })
  const first = [...asked(1, 1, 'f/a', 'x', 'accepted'), seen(accept(1.5, 'x', of('f/a')))]
  const refused = [
    ...asked(2, 3, 'f/b', 'y', 'full at f/'),
    { ...seen(reject(3.5, 'y', { ...of('f/b'), retryAt: 110 })), total: 'f/' } as HistoryRecord,
  ]
  const again = (at: number) => [
    ...asked(3, at, 'f/b', 'y', 'accepted'),
    seen(accept(at + 0.5, 'y', of('f/b'))),
  ]
  const worker = (secondAt: number) => [
    seen(start(10, 'x', of('f/a'))),
    seen(end(20, 'x')),
    seen(start(secondAt, 'y', of('f/b'))),
    seen(end(secondAt + 10, 'y')),
  ]
  const run = (secondAt: number, ...more: HistoryRecord[]) =>
    judged(
      { producer: [clock, ...first, ...refused, ...again(30)], worker: [...worker(secondAt), ...more] },
      undefined,
      plan,
    )
  expect(run(110)).toMatchObject({ breaches: [], counts: { 'refused by totals': 1, rejected: 0 } })
  expect(run(80).breaches).toEqual([
    expect.stringContaining('checker: L2'),
    expect.stringContaining('second judge: too early: key "f/"'),
    expect.stringContaining('around the first of them'),
  ])
  // A process stopped between its last look at the clock and the handler, which finds its signal aborted: that one, and no other.
  const missed = (at: number, id: string): HistoryRecord => ({ kind: 'missed-slot', at: at * 1_000, id })
  expect(run(80, missed(10, 'x')).breaches).toEqual([])
  expect(run(80, missed(11, 'x')).breaches).toHaveLength(3)
})

test('a handler that finds that its slot has passed has no place from then on', () => {
  const worker = (...more: HistoryRecord[]) => [
    seen(start(10, 'x')),
    ...more,
    seen(giveBack(15, 'x', 'freeze', 15)),
    seen(start(110, 'y')),
    { kind: 'settled', at: 119_000, id: 'y', attempt: 1 } as const,
    seen(end(120, 'y')),
    seen(start(210, 'x')),
    seen(end(220, 'x')),
  ]
  const producer = [
    PRODUCER[0]!,
    ...['x', 'y'].flatMap((id, n): HistoryRecord[] => [
      { kind: 'asked', at: 1_000 + n, call: n, asked: [{ do: 'admit', id, key: 'a', cost: 1 }] },
      { kind: 'answered', at: 2_000 + n, call: n, answers: ['accepted'] },
      seen(accept(1.5 + n / 10, id)),
    ]),
  ]
  const plan = { ...PLAN, limit: '5, 10/s, 1 at once' }
  const breaches = (...more: HistoryRecord[]) =>
    judged({ producer, worker: worker(...more) }, undefined, plan).breaches
  expect(breaches({ kind: 'missed-slot', at: 10_000, id: 'x' })).toEqual([])
  expect(breaches()).toContainEqual(expect.stringContaining('second judge: too many at once'))
})
