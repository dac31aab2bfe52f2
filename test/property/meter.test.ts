import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MILLISECOND, MINUTE, SECOND } from '../../src/core/duration.ts'
import {
  EMPTY,
  fill,
  fits,
  forgottenAt,
  levelAt,
  type MeterFill,
  type MeterState,
  ROUNDING,
  stateAt,
  waitFor,
} from '../../src/core/meter.ts'
import { intervalOf, parseRate } from '../../src/core/rate.ts'

const T0 = 1_800_000_000_000_000
const RUNS = { numRuns: 500 }

const capacity = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1e9 }))
const interval = fc
  .constantFrom('1/s', '3/s', '7/s', '1000/s', '3000000/s', '7 per minute', '11/h', '1000000000/s')
  .map((rate) => intervalOf(parseRate(rate)))
/** A part of the capacity, or something small, or a whole number. */
const amountOf = (held: number) =>
  fc.oneof(
    fc.double({ min: 0, max: 1.1, noNaN: true }).map((part) => part * held),
    fc.constantFrom(0, 1e-9, held * 1e-12, 0.1, 0.3, 1, held),
    fc.integer({ min: 1, max: 3 }),
  )

/** Steps of time are given as parts of the time in which a full bucket empties. */
const trace = fc.record({ capacity, interval }).chain((limit) =>
  fc.record({
    limit: fc.constant(limit),
    clamp: fc.boolean(),
    block: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: MINUTE })),
    steps: fc.array(
      fc.record({
        after: fc.oneof(
          fc.constant(0),
          fc
            .double({ min: 0, max: 0.5, noNaN: true })
            .map((part) => Math.round(part * limit.capacity * limit.interval)),
          fc.integer({ min: 0, max: 10 }),
        ),
        amount: amountOf(limit.capacity),
      }),
      { minLength: 1, maxLength: 60 },
    ),
  }),
)
type Trace = typeof trace extends fc.Arbitrary<infer Of> ? Of : never

/** Runs the trace; `look` sees each fill with the state before it. */
function run(
  { limit, clamp, block, steps }: Trace,
  look: (seen: { now: number; request: MeterFill; before: MeterState } & ReturnType<typeof fill>) => void,
): void {
  let [state, now] = [EMPTY, T0]
  for (const { after, amount } of steps) {
    now += after
    const request = { ...limit, amount, clamp, block }
    const verdict = fill(state, request, now)
    look({ now, request, before: state, ...verdict })
    state = verdict.state
  }
}

describe('the laws of a meter', () => {
  test('any window takes in at most the capacity and what leaks meanwhile', () => {
    fc.assert(
      fc.property(trace, (given) => {
        const { capacity, interval } = given.limit
        const taken: { now: number; amount: number }[] = []
        run(given, ({ now, request, accepted }) => {
          if (accepted) taken.push({ now, amount: request.amount })
        })
        for (const [from, first] of taken.entries()) {
          let sum = 0
          for (const { now, amount } of taken.slice(from)) {
            sum += amount
            // Rounded once by what the algorithm allows, and by each sum in a double.
            const bound = capacity * (1 + ROUNDING + 1e-15 * taken.length) + (now - first.now) / interval
            expect(sum).toBeLessThanOrEqual(bound * (1 + 1e-15 * taken.length))
          }
        }
      }),
      RUNS,
    )
  })

  test('a refused fill changes nothing; clamped or blocking it admits nothing sooner', () => {
    fc.assert(
      fc.property(trace, (given) => {
        run(given, ({ now, request, before, accepted, state }) => {
          if (accepted) return
          if (!given.clamp && given.block === 0) expect(state).toBe(stateAt(before, now))
          expect(waitFor(state, request, now)).toBeGreaterThanOrEqual(
            waitFor(before, request, now) * (1 - 1e-9),
          )
        })
      }),
      RUNS,
    )
  })

  test('asked at every instant, it lets in as much as when it is asked at the right one', () => {
    const asked = fc.record({
      capacity: fc.integer({ min: 1, max: 20 }),
      interval,
      every: fc.integer({ min: 1, max: 900 }),
    })
    fc.assert(
      fc.property(asked, ({ capacity, interval, every }) => {
        const request = { amount: 1, capacity, interval, clamp: false, block: 0 }
        const step = Math.max(1, Math.floor((interval * every) / 1_000))
        let [state, taken, now] = [EMPTY, 0, T0]
        for (let n = 0; n < 2_000; n++, now += step) {
          const verdict = fill(state, request, now)
          if (verdict.accepted) taken++
          state = verdict.state
        }
        // Each one that goes in may be late by one step.
        const most = capacity + Math.floor((now - step - T0) / interval)
        const least = capacity + Math.floor((now - step - T0) / (Math.ceil(interval / step) * step))
        expect(taken).toBeLessThanOrEqual(most)
        expect(taken).toBeGreaterThanOrEqual(Math.min(least, 2_000) - 1)
      }),
      RUNS,
    )
  })

  test('a caller that comes back after retryAfterMs is accepted; one interval sooner, a whole unit is not', () => {
    fc.assert(
      fc.property(trace, (given) => {
        run(given, ({ now, request, accepted, state }) => {
          if (accepted) return
          const wait = waitFor(state, request, now)
          if (wait === Number.POSITIVE_INFINITY) {
            expect(request.amount).toBeGreaterThan(request.capacity)
            return
          }
          const at = now + Math.max(1, Math.ceil(wait / MILLISECOND)) * MILLISECOND
          expect(fits(state, request, at)).toBe(true)
          expect(fill(state, request, at).accepted).toBe(true)
          const early = now + Math.floor(wait - request.interval * 1e-3) - 1
          if (early > now && request.amount > 0) expect(fits(state, request, early)).toBe(false)
        })
      }),
      RUNS,
    )
  })

  test('what fits is accepted, what does not is refused, and forgetting in time loses nothing', () => {
    fc.assert(
      fc.property(trace, (given) => {
        run(given, ({ now, request, before, accepted, state }) => {
          expect(accepted).toBe(fits(before, request, now))
          const end = Math.ceil(forgottenAt(state))
          expect(levelAt(state, request.interval, end)).toBeLessThanOrEqual(request.capacity * ROUNDING)
          expect(state.blockedUntil).toBeLessThanOrEqual(end)
        })
      }),
      RUNS,
    )
  })

  test('a clock that jitters by less than a minute lets in no more than one that does not', () => {
    const jitters = fc.array(fc.integer({ min: 0, max: 30 * SECOND }), { minLength: 2, maxLength: 100 })
    fc.assert(
      fc.property(jitters, (delays) => {
        const request = { amount: 1, capacity: 5, interval: SECOND, clamp: false, block: 0 }
        let [state, taken] = [EMPTY, 0]
        for (const [n, delay] of delays.entries()) {
          const { accepted, state: after } = fill(state, request, T0 + n * 100 * MILLISECOND - delay)
          if (accepted) taken++
          state = after
        }
        // The latest time that was used, counted from the earliest.
        const span = (delays.length - 1) * 100 * MILLISECOND + 30 * SECOND
        expect(taken).toBeLessThanOrEqual(5 + span / SECOND)
      }),
      RUNS,
    )
  })
})

describe('limits that change', () => {
  const changing = fc.array(
    fc.record({
      after: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10 * MINUTE })),
      capacity: fc.constantFrom(3, 10, 100),
      interval: fc.constantFrom(10 * MILLISECOND, SECOND, MINUTE, 1e6 / 3),
      amount: fc.constantFrom(0, 0.5, 1, 3, 10, 11, 100),
      clamp: fc.boolean(),
    }),
    { minLength: 2, maxLength: 60 },
  )

  test('any window takes in at most the last capacity, and of each stretch what leaks at the rate before it', () => {
    fc.assert(
      fc.property(changing, (steps) => {
        const fills: { amount: number; capacity: number; leaked: number }[] = []
        let [state, now, last] = [EMPTY, T0, Number.POSITIVE_INFINITY]
        for (const { after, ...request } of steps) {
          now += after
          const { accepted, state: next } = fill(state, { ...request, block: 0 }, now)
          const { amount, capacity, interval } = request
          fills.push({ amount: accepted ? amount : 0, capacity, leaked: after / last })
          state = next
          last = interval
        }
        for (const from of fills.keys()) {
          let [sum, leaked] = [0, 0]
          for (const [index, one] of fills.slice(from).entries()) {
            sum += one.amount
            if (index > 0) leaked += one.leaked
            if (one.amount > 0) expect(sum).toBeLessThanOrEqual((one.capacity + leaked) * (1 + 1e-9))
          }
        }
      }),
      RUNS,
    )
  })

  test('forgetting as soon as allowed and never forgetting lead to the same verdicts and states', () => {
    fc.assert(
      fc.property(changing, (steps) => {
        let [remembered, forgotten, now] = [EMPTY, EMPTY, T0]
        for (const { after, ...limit } of steps) {
          now += after
          if (forgottenAt(forgotten) <= now) forgotten = EMPTY
          const request = { ...limit, block: limit.amount === 3 ? MINUTE : 0 }
          const verdict = fill(remembered, request, now)
          expect(fill(forgotten, request, now)).toEqual(verdict)
          // What is nothing is left as it was by the one.
          if (verdict.state !== EMPTY) remembered = verdict.state
          forgotten = verdict.state
        }
      }),
      RUNS,
    )
  })
})

describe('GCRA', () => {
  /**
   * Virtual scheduling (ITU-T I.371), in whole numbers: times are in parts of a microsecond, `count` of them each, so that
   * an interval is `period` of them. TAT is the theoretical arrival time.
   */
  function gcra(limit: { capacity: number; count: number; period: number }) {
    const scale = BigInt(limit.count)
    const increment = BigInt(limit.period)
    const most = BigInt(limit.capacity) * increment
    let tat = 0n
    return (amount: number, now: number): boolean => {
      const at = BigInt(now) * scale
      const from = tat > at ? tat : at
      const next = from + BigInt(amount) * increment
      if (next - at > most) return false
      tat = next
      return true
    }
  }

  test('gives the same verdicts, on any trace of whole amounts', () => {
    const traces = fc.record({
      capacity: fc.integer({ min: 1, max: 50 }),
      count: fc.integer({ min: 1, max: 5_000 }),
      period: fc.constantFrom(SECOND, 3 * SECOND, MINUTE, 15 * MINUTE),
      steps: fc.array(
        fc.record({
          // In quarters of an interval, so that many come at the very instant.
          quarters: fc.integer({ min: 0, max: 12 }),
          plus: fc.constantFrom(0, 0, 1, -1),
          amount: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 8 })),
        }),
        { maxLength: 200 },
      ),
    })
    fc.assert(
      fc.property(traces, ({ capacity, count, period, steps }) => {
        const interval = intervalOf({ count, period })
        const conforms = gcra({ capacity, count, period })
        let [state, now] = [EMPTY, T0]
        for (const { quarters, plus, amount } of steps) {
          now = Math.max(now, now + Math.round((quarters * interval) / 4) + plus)
          const verdict = fill(state, { amount, capacity, interval, clamp: false, block: 0 }, now)
          expect(verdict.accepted).toBe(conforms(amount, now))
          state = verdict.state
        }
      }),
      { numRuns: 1_000 },
    )
  })
})
