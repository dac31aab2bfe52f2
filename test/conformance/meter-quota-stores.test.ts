import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HOUR, MILLISECOND, MINUTE, SECOND } from '../../src/core/duration.ts'
import { parseCountedLimit } from '../../src/core/limit.ts'
import { EMPTY, fill, stateAt } from '../../src/core/meter.ts'
import { fillQuotas, type QuotaMeterState, usesAt } from '../../src/core/meter-quotas.ts'
import { chargesOf } from '../../src/core/usage.ts'
import type { QuotaFillRequest, QuotaMeterVerbs } from '../../src/meter/meter-store.ts'
import { type OpenedMeterStore, type OpenMeterStore, QUOTA_METER_STORES } from '../support/meter-drivers.ts'
import { waitForEachAnswer } from '../support/patience.ts'

/** A whole hour of UTC, half an hour before one of Kolkata; the night after, the clocks of New York are set forward. */
const T0 = Date.UTC(2026, 2, 8, 2) * MILLISECOND
const METER = { name: 'test', key: 'k' }
const LIMITS = [
  '10, 2/s, 5 per 2 seconds',
  '10, 2/s, 5 per 3 seconds, 40 tokens/second 5 each',
  '6, 3/s, 40 tokens/minute 5 each, 9/second',
  '10, 2/s, 8 per hour in UTC, 60 tokens per day in America/New_York 4 each',
  '10, 2/s, 30 per week in Asia/Kolkata, 8 per hour in Asia/Kolkata, 9 per 2 seconds',
]

function requestOf(text: string, amount = 1, tokens?: number): QuotaFillRequest {
  const { capacity, interval, quotas } = parseCountedLimit(text)
  const charges = chargesOf({ quotas }, { cost: amount, ...(tokens !== undefined && { costs: { tokens } }) })
  return { ...METER, amount, capacity, interval, clamp: false, block: 0, quotas, charges }
}

async function opened(open: OpenMeterStore): Promise<OpenedMeterStore & { quotas: QuotaMeterVerbs }> {
  const opened = await open()
  onTestFinished(() => opened.store.close())
  return { ...opened, quotas: opened.store.quotas! }
}

/** As it counts at `now` under the limit: what is over may be stored, or forgotten. */
function asCounted(state: QuotaMeterState | undefined, request: QuotaFillRequest, now: number) {
  const { level, at, blockedUntil, interval } = stateAt(state ?? EMPTY, now)
  return { level, at, blockedUntil, interval, uses: usesAt(state ?? EMPTY, request, now) }
}

describe.each(QUOTA_METER_STORES)('a store of meters with quotas: %s', (name, open) => {
  if (name === 'postgres' || name === 'pglite') waitForEachAnswer()

  test('keeps nothing for a key that was never filled', async () => {
    const { quotas } = await opened(open)
    const request = requestOf(LIMITS[0]!)
    expect(await quotas.read(METER, T0)).toEqual({ state: undefined, now: T0 })
    const refused = await quotas.fill({ ...request, charges: [6] }, T0)
    expect(refused).toEqual({ accepted: false, state: EMPTY, now: T0 })
    expect(asCounted((await quotas.read(METER, T0)).state, request, T0)).toMatchObject({ ...EMPTY })
  })

  test('charges the bucket and all quotas, or none; and drains all of them', async () => {
    const { store, quotas } = await opened(open)
    const request = requestOf(LIMITS[1]!, 2, 30)
    expect(await quotas.fill(request, T0)).toMatchObject({
      accepted: true,
      state: { level: 2, counted: { uses: [{ used: [2] }, { used: [30] }] } },
    })
    const before = (await quotas.read(METER, T0)).state
    expect((await quotas.fill(requestOf(LIMITS[1]!, 2, 11), T0)).accepted).toBe(false)
    expect((await quotas.fill(requestOf(LIMITS[1]!, 4, 1), T0)).accepted).toBe(false)
    expect((await quotas.fill(requestOf(LIMITS[1]!, 1, 41), T0)).accepted).toBe(false)
    expect((await quotas.read(METER, T0)).state).toEqual(before)
    await store.drain(METER)
    expect((await quotas.read(METER, T0)).state).toBeUndefined()
    expect((await quotas.fill(requestOf(LIMITS[1]!, 5, 40), T0)).accepted).toBe(true)
  })

  test('shares one level with the verbs for limits without quotas', async () => {
    const { store, quotas } = await opened(open)
    const request = requestOf('10, 1/s, 7/minute', 3)
    await store.fill(request, T0)
    expect(await quotas.fill(request, T0)).toMatchObject({ accepted: true, state: { level: 6 } })
    expect(await store.read(METER, T0)).toMatchObject({ state: { level: 6 } })
    expect(await store.fill(request, T0)).toMatchObject({ accepted: true, state: { level: 9 } })
    expect(await store.fill({ ...request, amount: 2 }, T0)).toMatchObject({ accepted: false })
    expect(await quotas.fill(requestOf('10, 1/s, 7/minute', 1), T0)).toMatchObject({
      accepted: true,
      state: { level: 10 },
    })
  })

  test('accepts exactly as many as fit into the quota when all come together', async () => {
    const { quotas } = await opened(open)
    const request = requestOf('200, 100/s, 100 tokens/hour 7 each')
    const verdicts = await Promise.all(Array.from({ length: 60 }, () => quotas.fill(request, T0)))
    expect(verdicts.filter(({ accepted }) => accepted)).toHaveLength(14)
    const { state } = await quotas.read(METER, T0)
    expect(state).toMatchObject({ level: 14, counted: { uses: [{ used: [98] }] } })
  })

  test('has a clock of its own, and knows the periods of it', async () => {
    const { quotas } = await opened(open)
    const request = requestOf('10, 1/h, 3 per week in Europe/Berlin')
    const { now: first } = await quotas.fill(request)
    await quotas.fill(request)
    expect((await quotas.fill(request)).accepted).toBe(true)
    const { accepted, state, now } = await quotas.fill(request)
    expect(accepted).toBe(false)
    expect(now).toBeGreaterThanOrEqual(first)
    expect(asCounted(state, request, now)).toEqual(asCounted((await quotas.read(METER)).state, request, now))
  })

  test('keeps eight quotas with all their sub-windows', async () => {
    const { quotas } = await opened(open)
    const parts = Array.from({ length: 8 }, (_, n) => `${1e12 - n} u${n}/${n + 1}h ${n + 1} each`)
    const request = requestOf(`1000000, 1000/s, ${parts.join(', ')}`)
    let state: QuotaMeterState = EMPTY
    for (let n = 0; n < 70; n++) {
      const now = T0 + n * MINUTE + 0.25
      const expected = fillQuotas(state, request, now)
      expect(await quotas.fill(request, now)).toEqual({ ...expected, now })
      state = expected.state
    }
    expect(state.counted?.uses[0]?.ends).toHaveLength(61)
  })

  test('gives the verdicts and states of the algorithm, bit for bit, on any trace of fills and limits', async () => {
    const { store, quotas } = await opened(open)
    const after = fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 3 * SECOND }),
      fc.integer({ min: 0, max: 2 * HOUR }),
      fc.integer({ min: -2 * MINUTE, max: 0 }),
      fc.integer({ min: 0, max: 400 }).map((quarters) => quarters / 4),
    )
    const step = fc.record({
      verb: fc.constantFrom('quotas', 'quotas', 'quotas', 'quotas', 'quotas', 'fill', 'drain'),
      after,
      limit: fc.constantFrom(...LIMITS),
      staysWithLimit: fc.boolean(),
      amount: fc.integer({ min: 0, max: 6 }),
      tokens: fc.option(fc.integer({ min: 1, max: 45 }), { nil: undefined }),
      clamp: fc.boolean(),
      block: fc.constantFrom(0, 0, 0, 0, 0, SECOND, MINUTE),
    })
    let run = 0
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 40 }),
      fc.constantFrom(
        T0,
        T0 - 2 * SECOND,
        T0 + HOUR / 2 - SECOND,
        Date.UTC(2026, 2, 8, 4, 59, 59) * MILLISECOND,
      ),
      async (steps, start) => {
        const id = { name: 'traces', key: `${++run}` }
        let [state, now, limit]: [QuotaMeterState, number, string] = [EMPTY, start, LIMITS[0]!]
        for (const { verb, after, amount, tokens, clamp, block, ...step } of steps) {
          now += after
          if (!step.staysWithLimit) limit = step.limit
          const request = { ...requestOf(limit, amount, tokens), ...id, clamp, block }
          if (verb === 'drain') {
            await store.drain(id)
            state = EMPTY
          } else if (verb === 'fill' && limit === LIMITS[0]) {
            const expected = fill(state, request, now)
            expect(await store.fill(request, now)).toMatchObject({ accepted: expected.accepted, now })
            // A bucket without quotas may go on to keep what was counted, or forget it.
            await store.drain(id)
            state = EMPTY
          } else {
            const expected = fillQuotas(state, request, now)
            expect(await quotas.fill(request, now)).toEqual({ ...expected, now })
            state = expected.state
          }
          const stored = (await quotas.read(id, now)).state
          expect(asCounted(stored, request, now)).toEqual(asCounted(state, request, now))
        }
      },
    )
    await fc.assert(property, { numRuns: 60 })
  })

  test('forgets nothing that still counts, and all that does not, while its own clock runs', async () => {
    const { quotas, pass } = await opened(open)
    const request = requestOf('10, 10/s, 5/hour', 3)
    await quotas.fill(request, T0)
    await pass(T0 + HOUR - MINUTE, HOUR - MINUTE)
    expect(await quotas.fill(request, T0 + HOUR - MINUTE)).toMatchObject({ accepted: false })
    await pass(T0 + 2 * HOUR, HOUR + MINUTE)
    await pass(T0 + 3 * HOUR, HOUR)
    expect((await quotas.read(METER, T0 + 3 * HOUR)).state).toBeUndefined()
  })
})
