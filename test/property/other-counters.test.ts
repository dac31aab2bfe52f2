import { describe, expect, it } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { VirtualClock } from '../../src/testing.ts'
import {
  type Counter,
  calendarDay,
  fixedWindow,
  slidingWindow,
  tokenBucket,
} from '../support/strict-counters.ts'

const SECOND = 1_000_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const AMOUNT = 120
const WINDOWS = 5
/** Counts that repeat, so that a run is the same each time. */
const TOKENS = [1, 3, 1, 2, 4, 1, 2, 2]

interface Run {
  readonly limit: string
  /** What the other side counts: calls, or tokens. */
  readonly counts: 'calls' | 'tokens'
  readonly counter: Counter
  readonly forUs: number
  readonly startsAt?: number
}

/** Calls the other side from a line that is never empty; returns its refusals, and the units that passed. */
async function call({ limit, counts, counter, forUs, startsAt = 0 }: Run) {
  const clock = new VirtualClock(startsAt)
  const shaper = new Shaper('calls', { limits: { '*': limit }, clock })
  let refusals = 0
  let passed = 0
  let number = 0
  const ask = () => {
    const tokens = TOKENS[number++ % TOKENS.length]!
    return shaper.enqueue('k', tokens, { costs: { tokens } })
  }
  shaper.work(async (job) => {
    const units = counts === 'calls' ? 1 : (job.data as number)
    if (counter.pass(clock.now(), units)) passed += units
    else refusals += 1
    await ask()
  })
  for (let index = 0; index < 50; index++) await ask()
  await clock.advance(forUs)
  const seen = { refusals, passed }
  const closed = shaper.close({ drainMs: 0 })
  await clock.advance(SECOND)
  await closed
  return seen
}

describe('the other side refuses nothing and gets nearly all that it allows', () => {
  it.each<[string, Omit<Run, 'limit'>]>([
    [
      'calls by a fixed window',
      { counts: 'calls', counter: fixedWindow(AMOUNT, MINUTE), forUs: WINDOWS * MINUTE },
    ],
    [
      'calls by a fixed window that begins at another time',
      { counts: 'calls', counter: fixedWindow(AMOUNT, MINUTE, 17 * SECOND + 3), forUs: WINDOWS * MINUTE },
    ],
    [
      'calls by a sliding window',
      { counts: 'calls', counter: slidingWindow(AMOUNT, MINUTE), forUs: WINDOWS * MINUTE },
    ],
    [
      'calls by a token bucket',
      { counts: 'calls', counter: tokenBucket(AMOUNT, MINUTE), forUs: WINDOWS * MINUTE },
    ],
    [
      'tokens by a fixed window',
      { counts: 'tokens', counter: fixedWindow(AMOUNT, MINUTE), forUs: WINDOWS * MINUTE },
    ],
    [
      'tokens by a fixed window that begins at another time',
      { counts: 'tokens', counter: fixedWindow(AMOUNT, MINUTE, 41 * SECOND), forUs: WINDOWS * MINUTE },
    ],
    [
      'tokens by a sliding window',
      { counts: 'tokens', counter: slidingWindow(AMOUNT, MINUTE), forUs: WINDOWS * MINUTE },
    ],
    [
      'tokens by a token bucket',
      { counts: 'tokens', counter: tokenBucket(AMOUNT, MINUTE), forUs: WINDOWS * MINUTE },
    ],
  ])('that counts %s', async (_, run) => {
    const limit =
      run.counts === 'calls' ? `100, 100/s, ${AMOUNT}/minute` : `100, 50/s, ${AMOUNT} tokens/minute 2 each`
    const { refusals, passed } = await call({ ...run, limit })
    expect(refusals).toBe(0)
    // What it allows in the long run: a token bucket that is full at first allows its burst once more.
    expect(passed).toBeGreaterThanOrEqual(0.975 * AMOUNT * WINDOWS)
  })

  it.each(['America/Los_Angeles', 'Asia/Kathmandu'])('that counts calls by the days of %s', async (zone) => {
    // From two days before the clocks of Los Angeles are set forward.
    const startsAt = Date.UTC(2024, 2, 8, 8) * 1_000
    const run = { counts: 'calls', counter: calendarDay(AMOUNT, zone), forUs: 96 * HOUR, startsAt } as const
    const { refusals, passed } = await call({ ...run, limit: `100, 1/s, ${AMOUNT} per day in ${zone}` })
    expect(refusals).toBe(0)
    expect(passed).toBeGreaterThanOrEqual(0.95 * AMOUNT * 4)
  })

  it('that counts calls and tokens, each in windows of its own', async () => {
    const calls = slidingWindow(100, MINUTE)
    const tokens = fixedWindow(AMOUNT, MINUTE, 7 * SECOND)
    const day = calendarDay(100_000, 'UTC')
    // Calls with two tokens on average: the tokens bind.
    const both = {
      pass: (at: number, units: number) => calls.pass(at, 1) && tokens.pass(at, units) && day.pass(at, 1),
    }
    const limit = `100, 50/s, 100/minute, ${AMOUNT} tokens/minute 2 each, 100000 per day in UTC`
    const { refusals, passed } = await call({
      limit,
      counts: 'tokens',
      counter: both,
      forUs: WINDOWS * MINUTE,
    })
    expect(refusals).toBe(0)
    expect(passed).toBeGreaterThanOrEqual(0.975 * AMOUNT * WINDOWS)
  })
})

it('the other side refuses where the line knows of no quota', async () => {
  const run = { counts: 'calls', counter: slidingWindow(AMOUNT, MINUTE), forUs: 3 * SECOND } as const
  expect((await call({ ...run, limit: '100, 100/s' })).refusals).toBeGreaterThan(0)
})
