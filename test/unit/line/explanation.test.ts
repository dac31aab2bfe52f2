import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MILLISECOND, MINUTE, SECOND } from '../../../src/core/duration.ts'
import { explain } from '../../../src/line/explanation.ts'
import { spokenDuration } from '../../../src/line/hold-text.ts'
import type { JobFacts, WaitFacts } from '../../../src/line/job-facts.ts'

const NOW = 1_700_000_000 * SECOND
const RULE = { pattern: 'stripe', limit: '20, 1/s', origin: 'file' } as const
const NEVER = Number.NEGATIVE_INFINITY

/** The head of a bucket that may go, but for what is said. */
function waiting(part: Partial<WaitFacts> = {}, facts: Partial<JobFacts> = {}): JobFacts {
  const wait = {
    position: (part.ahead?.jobs ?? 0) + 1,
    ahead: { jobs: 0, cost: 0, ids: [] },
    departsAt: NOW,
    limit: '20, 1/s',
    next: NEVER,
    frozenUntil: 0,
    paused: false,
    needsHandler: true,
    head: { isTurn: false, due: NOW },
    ...part,
  }
  const job = {
    now: NOW,
    id: 'x',
    key: 'stripe/acct_42',
    state: 'waiting',
    attempt: 0,
    admittedAt: NOW,
  } as const
  return { ...job, wait, ...facts }
}

const behind = (jobs: number, cost = jobs) => ({ jobs, cost, ids: ['a', 'b'].slice(0, jobs) })
const after = (seconds: number) => NOW + seconds * SECOND
const said = (facts: JobFacts) => explain(facts, RULE)

describe('the sentence', () => {
  test.each<[string, JobFacts]>([
    ['First in line of stripe/acct_42: departs now.', waiting()],
    [
      'First in line of stripe/acct_42: departs in 0.4 s at 1/s.',
      waiting({ departsAt: after(0.4), next: after(0.4) }),
    ],
    [
      'Third in line of stripe/acct_42: departs in 2.3 s at 1/s, behind 2 jobs.',
      waiting({ ahead: behind(2), departsAt: after(2.3) }),
    ],
    [
      'Second in line of stripe/acct_42: departs in 5 s at 1/s, behind 1 job of 5 cost units.',
      waiting({ ahead: behind(1, 5), departsAt: after(5) }),
    ],
    [
      '1,234th in line of stripe/acct_42: departs in 21 min at 1/s, behind 1,233 jobs.',
      waiting({ ahead: behind(1_233), departsAt: after(1_233) }),
    ],
    [
      'First in line of stripe/acct_42, which is frozen for another 12 s: departs in 12 s at 20 per 15m.',
      waiting({ frozenUntil: after(12), departsAt: after(12), limit: '5, 20 per 15 minutes' }),
    ],
    [
      'First in line of stripe/acct_42: departs in 3 s at 1/s, when it has backed off after attempt 2.',
      waiting({ readyAt: after(3), departsAt: after(3) }, { state: 'retrying', attempt: 2 }),
    ],
    [
      'First in line of stripe/acct_42: could depart now, but no worker takes jobs.',
      waiting({ stall: { kind: 'no-worker' } }),
    ],
    [
      'Second in line of stripe/acct_42: could depart in 1 s at 1/s, behind 1 job, but every handler is busy.',
      waiting({ ahead: behind(1), departsAt: after(1), stall: { kind: 'busy', running: 3 } }),
    ],
    [
      'First in line of stripe/acct_42, which is paused: does not depart until it is resumed; and no worker takes jobs.',
      waiting({ paused: true, stall: { kind: 'no-worker' } }),
    ],
    [
      'First in line of stripe/acct_42, handed over to the workers: departs in 20 ms at 1/s.',
      waiting({ handed: {}, departsAt: after(0.02) }, { state: 'handed' }),
    ],
    [
      'First in line of stripe/acct_42, at worker w1: departs in 20 ms at 1/s.',
      waiting(
        { handed: { worker: 'w1', slot: after(0.02) }, departsAt: after(0.02), paused: true },
        { state: 'handed' },
      ),
    ],
  ])('%s', (summary, facts) => {
    expect(said(facts).summary).toBe(summary)
  })

  test('an error that is long or odd does not break it', () => {
    const error = `no\n${'x'.repeat(500)}`
    const { summary } = said({
      ...waiting(),
      state: 'failed',
      wait: undefined,
      attempt: 2,
      endedAt: NOW,
      error,
    })
    expect(summary).toMatch(/^Failed 0 ms ago in stripe\/acct_42, after 2 attempts: "no\\nx+\.\.\."\.$/)
    expect(summary.length).toBeLessThan(160)
  })

  test('the summary without times leaves times that are part of a key', () => {
    const key = 'shop in 5 s at home'
    const frozen = waiting({ ahead: behind(2), departsAt: after(70), frozenUntil: after(60) }, { key })
    expect(said(frozen)).toMatchObject({
      summary: `Third in line of ${key}, which is frozen for another 60 s: departs in 70 s at 1/s, behind 2 jobs.`,
      summaryWithoutTimes: `Third in line of ${key}, which is frozen: departs at 1/s, behind 2 jobs.`,
    })
    const now = waiting()
    expect(said(now).summaryWithoutTimes).toBe(said(now).summary)
    const ended = waiting({}, { state: 'cancelled', endedAt: NOW, wait: undefined })
    expect(said(ended).summaryWithoutTimes).toBe(said(ended).summary)
  })

  test.each([
    [11, '11th'],
    [12, '12th'],
    [13, '13th'],
    [21, '21st'],
    [22, '22nd'],
    [23, '23rd'],
    [24, '24th'],
    [111, '111th'],
    [1_001, '1,001st'],
  ])('the place %i is the %s', (position, word) => {
    expect(said(waiting({ position })).summary).toMatch(new RegExp(`^${word} in line`))
  })

  test.each([
    [0, '0 ms'],
    [20 * MILLISECOND, '20 ms'],
    [99.6 * MILLISECOND, '0.1 s'],
    [2.345 * SECOND, '2.3 s'],
    [9.96 * SECOND, '10 s'],
    [119 * SECOND, '119 s'],
    [2 * MINUTE, '2 min'],
    [5 * HOUR, '5 h'],
    [3 * DAY, '3 days'],
  ])('%i us are %s', (duration, text) => {
    expect(spokenDuration(duration)).toBe(text)
  })
})

describe('the holds', () => {
  const reasons = (facts: JobFacts, rule: typeof RULE | undefined = RULE) =>
    explain(facts, rule).holds.map(({ reason }) => reason)

  test('the longest hold is first, and holds without a known end come before all', () => {
    const part = { frozenUntil: after(9), readyAt: after(12), ahead: behind(1), departsAt: after(13) }
    expect(reasons(waiting(part))).toEqual(['line', 'backoff', 'frozen'])
    const paused = waiting({ ...part, paused: true })
    expect(reasons(paused)).toEqual(['paused', 'line', 'backoff', 'frozen'])
    expect(explain(paused, undefined).holds.at(-1)).toEqual({
      reason: 'no-rule',
      detail: 'no rule governs the key: waiting jobs keep 20, 1/s, and new ones are rejected',
    })
  })

  test('a hold that has passed is left out', () => {
    expect(reasons(waiting({ next: NOW, frozenUntil: NOW, readyAt: NOW }))).toEqual([])
  })

  test('departsAt is absent where it is unknown', () => {
    expect(said(waiting({ departsAt: after(1), next: after(1) })).departsAt).toBe(after(1) / 1_000)
    for (const part of [
      { paused: true },
      { stall: { kind: 'no-worker' } },
      { stall: { kind: 'busy', running: 1 } },
    ] as const) {
      expect(said(waiting(part)).departsAt).toBeUndefined()
    }
  })

  test('no worker took the head: the reason depends on whether others run', () => {
    const untaken = (running: number) => waiting({ stall: { kind: 'untaken', since: after(-4), running } })
    expect(said(untaken(0)).holds).toEqual([
      { reason: 'no-worker', detail: expect.stringContaining('due for 4 s, and no worker has taken it') },
    ])
    expect(said(untaken(2)).holds).toEqual([{ reason: 'busy', detail: expect.stringContaining('2 or more') }])
  })
})
