import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../src/conformance/history.ts'
import { DAY, SECOND } from '../../src/core/duration.ts'
import { isVelvetRopeError } from '../../src/core/errors.ts'
import { parseLimit } from '../../src/core/limit.ts'
import { DRIVERS } from '../conformance/drivers.ts'
import { COMPLETED, type Driver, failAndRetry, request } from '../support/backend-driver.ts'

const MS = 1_000
/** With `tolerance 0` both clocks judge a start alike. Some removes a quota, or lowers it below what a waiting job counts. */
const LIMITS = [
  '20, 10/s, 7/second',
  '20, 20/s, 5/second, 12 per 7 seconds',
  '20, 40/s, 3000 tokens/minute 100 each, 10 per 2 seconds',
  '20, 10/s, 500 tokens per 5 seconds 40 each, 3 at once',
  '20, 10/s, 500 tokens/minute 40 each',
  '20, 10/s, 500 tokens/second 40 each',
  '20, 10/s, 50 tokens per 3 seconds 40 each',
  '20, 10/s, 300 tokens per 3 seconds 9 each, 20 images/second 2 each, 1 at once',
  '20, 20/s, 2 at once',
  '20, 4/s, warm-up 2s, 6 per 3 seconds',
  '20, 20/s, 5/second, 9 per hour in Australia/Lord_Howe, 14 per day in America/Los_Angeles',
  '20, 20/s, 700 tokens per day in Asia/Beirut 40 each, 30 per week in Europe/Berlin',
  '12, 5/s',
].map((text) => `${text}, tolerance 0`)

/** A minute before an hour, a day or a week ends, or a clock is set: in Los Angeles, Berlin, Beirut (at midnight), Lord Howe. */
const start = fc
  .constantFrom(1_700_035_200, 1_710_064_800, 1_711_836_000, 1_711_846_800, 1_712_415_600, 1_729_990_800)
  .map((moment) => (moment - 60) * SECOND)

const limit = fc.constantFrom(...LIMITS)
const which = fc.nat(1_000)
const units = fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined })
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('admit' as const),
      cost: fc.integer({ min: 1, max: 4 }),
      tokens: units,
      patience: fc.option(fc.nat(5_000 * MS), { nil: undefined, freq: 4 }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('complete' as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('retry' as const), which, delay: fc.nat(900 * MS) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      which,
      unit: fc.constantFrom('tokens', 'tokens', 'tokens', 'images'),
      amount: fc.nat(600),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('limit' as const), limit }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
const lapse = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 8 * MS }) },
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 700 * MS }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20_000 * MS }) },
)
/** Fast lines, whose windows hold more starts than Redis keeps apart. */
const BUSY_LIMITS = [
  '300, 500/s, 360 tokens per 2 seconds 2 each',
  '300, 500/s, 140 per 2 seconds',
  '300, 500/s, 560 tokens per 3 seconds 3 each, 150 per 2 seconds',
  '300, 500/s, 80/second, 370 tokens per 2 seconds 1 each, 100 images per 2 seconds 1 each',
].map((text) => `${text}, tolerance 0`)
const busyLimit = fc.constantFrom(...BUSY_LIMITS)
const busyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      do: fc.constant('admit' as const),
      cost: fc.integer({ min: 1, max: 2 }),
      tokens: fc.option(fc.integer({ min: 1, max: 7 }), { nil: undefined }),
      patience: fc.constant(undefined),
    }),
  },
  { weight: 30, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('complete' as const), which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      which,
      unit: fc.constant('tokens'),
      amount: fc.nat(40),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limit' as const), limit: busyLimit }) },
)
const busyLapse = fc.oneof(
  { weight: 300, arbitrary: fc.integer({ min: 1, max: 15 * MS }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 300 * MS }) },
)
const busyTrace = fc.record({
  start,
  first: busyLimit,
  steps: fc.array(fc.tuple(busyStep, busyLapse), { minLength: 700, maxLength: 900, size: 'max' }),
})

const trace = fc.record({
  start,
  first: limit,
  steps: fc.array(fc.tuple(step, lapse), { minLength: 1, maxLength: 60, size: 'max' }),
})

/** Plays a trace to both lines; each answer of one is the answer of the other, and the checker reads what happened. */
class Play {
  readonly history: HistoryEvent[] = []
  readonly #drivers: readonly Driver[]
  readonly #asked: string[] = []
  readonly #started: string[] = []
  #running: string[] = []
  #fences = new Map<string, number>()
  #readyAt = 0
  now: number

  constructor(drivers: readonly Driver[], first: string, start: number) {
    this.now = start
    this.#drivers = drivers
    this.#noteLimit(first)
  }

  async step(step: Step): Promise<void> {
    const { now } = this
    for (const id of await this.#all(async (driver) => (await driver.expire(now)).sort())) {
      this.history.push({ type: 'end', at: now, id, outcome: 'expired' })
    }
    await this.#all((driver) => driver.forget(now))
    await this.#do(step)
    await this.#all((driver) => seenOf(driver, this.#asked.slice(-4), now))
  }

  /** All that waits departs, one after the other. */
  async drain(): Promise<void> {
    for (let looks = 0; ; looks++) {
      const [driver] = this.#drivers
      const { jobs = 0, running = 0, retrying = 0 } = (await driver!.inspect('a', this.now)) ?? {}
      if (jobs + running + retrying === 0) return
      expect(looks, 'steps of the drain').toBeLessThan(400)
      // A quota of the calendar may be free in days.
      this.now += looks < 200 ? 2 * SECOND : DAY
      await this.step({ do: 'start' })
      while (this.#running.length > 0) await this.step({ do: 'complete', which: 0 })
    }
  }

  async audit(): Promise<void> {
    const counts = await this.#all((driver) => driver.audit())
    this.history.push({ type: 'audit', at: this.now, ...counts })
  }

  async #do(step: Step): Promise<void> {
    const { now, history } = this
    switch (step.do) {
      case 'admit': {
        const { cost, tokens, patience = Number.POSITIVE_INFINITY } = step
        const id = `j${this.#asked.length}`
        const named = tokens === undefined ? {} : { costs: { tokens } }
        this.#asked.push(id)
        const asked = request(id, { cost, ...named, deadline: now + patience })
        const answer = await this.#all((driver) => driver.admit(asked, now))
        const estimate = answer.isEstimate && { isEstimate: true }
        const common = { type: 'answer', at: now, id, key: 'a', cost, ...named, ...estimate } as const
        if (answer.accepted) history.push({ ...common, accepted: true, departsAt: answer.departsAt * MS })
        else {
          const retryAt = now + answer.retryAfterMs * MS
          history.push({ ...common, accepted: false, reason: answer.reason, retryAt })
        }
        break
      }
      case 'start':
        for (;;) {
          const started = await this.#all(async (driver) => await driver.startNext(now))
          if (started === undefined) break
          const { id, key, cost, costs, attempt, fence } = started
          history.push({ type: 'start', at: now, id, key, cost, ...(costs && { costs }), attempt, fence })
          this.#fences.set(id, fence)
          this.#started.push(id)
          this.#running.push(id)
        }
        break
      case 'settle': {
        const id = this.#started[step.which % Math.max(1, this.#started.length)]
        if (id === undefined) break
        const amounts = { [step.unit]: step.amount }
        const isTaken = await this.#all(async (driver) => {
          try {
            return await driver.settle(id, amounts, now)
          } catch (error) {
            if (isVelvetRopeError(error, 'unknown-unit')) return error.code
            throw error
          }
        })
        const fence = this.#fences.get(id)!
        if (isTaken !== true) break
        history.push({ type: 'settle', at: now, id, key: 'a', amounts, fence })
        break
      }
      case 'complete':
      case 'retry': {
        const id = this.#running[step.which % Math.max(1, this.#running.length)]
        if (id === undefined) break
        this.#running = this.#running.filter((other) => other !== id)
        if (step.do === 'complete') {
          await this.#all((driver) => driver.finish(id, COMPLETED, now))
          history.push({ type: 'end', at: now, id, outcome: 'completed' })
          break
        }
        // Of two that are ready at the same microsecond, either may depart first.
        this.#readyAt = Math.max(this.#readyAt + 1, now + step.delay)
        await this.#all((driver) => driver.finish(id, failAndRetry(this.#readyAt), now))
        history.push({ type: 'return', at: now, id, reason: 'retry', readyAt: this.#readyAt })
        break
      }
      case 'limit':
        await this.#all((driver) => driver.setRule('*', step.limit, now))
        this.#noteLimit(step.limit)
    }
  }

  #noteLimit(text: string): void {
    this.history.push({ type: 'limit', at: this.now, key: 'a', limit: parseLimit(text) })
  }

  async #all<Answer>(ask: (driver: Driver) => Promise<Answer>): Promise<Answer> {
    const [first, ...others] = await Promise.all(this.#drivers.map(ask))
    for (const other of others) expect(withoutFence(other)).toEqual(withoutFence(first))
    return first as Answer
  }
}

/** What both show. */
async function seenOf(driver: Driver, ids: readonly string[], now: number) {
  const view = await driver.inspect('a', now)
  const jobs = await Promise.all(ids.map((id) => driver.job(id, now)))
  return [view && { ...view, durability: 'any' }, jobs, await driver.audit(), await driver.flow(now)]
}

/** Fences of a line on Redis go on over restarts, so that they do not begin at 1. */
function withoutFence(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('fence' in answer)) return answer
  return { ...answer, fence: 0 }
}

test.each([
  ['sets of limits', trace, 80],
  ['quotas in which many starts are', busyTrace, 8],
])(
  'both lines answer alike under %s, and no law is broken',
  { timeout: 600_000 },
  async (_, traces, numRuns) => {
    await fc.assert(
      fc.asyncProperty(traces, async ({ start: startedAt, first, steps }) => {
        const drivers = await Promise.all(DRIVERS.map(([, open]) => open({ '*': first })))
        try {
          const play = new Play(drivers, first, startedAt)
          for (const [step, by] of steps) {
            play.now += by
            await play.step(step)
          }
          await play.drain()
          await play.audit()
          expect(checkHistory(play.history)).toEqual([])
        } finally {
          await Promise.all(drivers.map((driver) => driver.close()))
        }
      }),
      // The shorter ones of a trace of many steps are many, too.
      { numRuns, endOnFailure: traces === busyTrace },
    )
  },
)
