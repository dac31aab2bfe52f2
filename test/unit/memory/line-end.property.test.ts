import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Bucket } from '../../../src/core/bucket.ts'
import { SECOND } from '../../../src/core/duration.ts'
import { LineEnd } from '../../../src/core/line-end.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import { judge } from '../../../src/core/verdict.ts'
import { countNamed, type NamedUnits } from '../../../src/core/waiting-charges.ts'
import type { JobRecord } from '../../../src/memory/store/job-record.ts'
import type { MemoryBucket } from '../../../src/memory/store/memory-bucket.ts'
import { COMPLETED, request, retryAt, storeWith } from '../../support/memory-store.ts'

const NOW = 1_700_000_000 * SECOND
const MS = 1_000
/** Some hold most of a line, some hold none of it; an interval that no double holds exactly; some drop a quota or a unit. */
const LIMITS = [
  '40, 10/s, 7/second',
  '300, 30/s, 200 per 5 seconds',
  '300, 3/s, tolerance 0, 250/minute, 9 per 2 seconds',
  '300, 40/s, 3000 tokens/minute 100 each, 10 per 2 seconds',
  '300, 40/s, 90000 tokens/minute 30 each, 90000 images/hour 7 each',
  '60, 10/s, 500 tokens per 5 seconds 40 each, 3 at once',
  '60, 4/s, warm-up 2s, 6 per 3 seconds',
  '60, 20/s, 9 per hour in Europe/Berlin',
  '60, 7/s',
]
const limit = fc.constantFrom(...LIMITS)
const which = fc.nat(1_000)
const costs = fc.option(fc.record({ tokens: fc.integer({ min: 1, max: 400 }) }), { nil: undefined })
const job = fc.record({ cost: fc.integer({ min: 1, max: 4 }), costs })
const step = fc.oneof(
  { weight: 10, arbitrary: job.map((asked) => ({ do: 'admit' as const, ...asked })) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('many' as const), jobs: fc.integer({ min: 9, max: 230 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('start' as const),
      lateBy: fc.constantFrom(0, 900, 4 * MS, 40 * MS),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which,
      how: fc.constantFrom('done', 'retry', 'freeze'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('settle' as const), which, tokens: fc.nat(700) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limit' as const), limit }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), for: fc.nat(900 * MS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unfreeze' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), by: fc.nat(1_500 * MS) }) },
  // The clock is set back, or the line stands still.
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pass' as const), by: fc.constantFrom(-3 * SECOND, 20 * SECOND) }),
  },
)

/** What the bucket is, without what it remembers of its line. */
function withoutMemory(bucket: MemoryBucket, isCounted: boolean): Bucket {
  const { limit, next, carry, frozenUntil, paused, waiting, warmth, lastCost, lastWarmth, usage } = bucket
  const { lastStart, startedCost, startedWarmth, placesTaken } = bucket
  const counted = isCounted && { jobs: [...bucket.inOrder()].length, named: namedBy(bucket) }
  const numbers = { next, carry, frozenUntil, waiting, warmth, lastCost, lastWarmth }
  return { ...numbers, limit, paused, lastStart, startedCost, startedWarmth, usage, placesTaken, ...counted }
}

function namedBy(bucket: MemoryBucket): NamedUnits | undefined {
  let named: NamedUnits | undefined
  for (const { costs } of bucket.inOrder()) if (costs !== undefined) named = countNamed(named, costs, 1)
  return named
}

function check(bucket: MemoryBucket, now: number): void {
  expect(bucket.named).toEqual(namedBy(bucket))
  const asked = [{ cost: 1 }, { cost: 3, costs: { tokens: 55 } }]
  for (const one of asked) {
    for (const deadline of [Number.POSITIVE_INFINITY, now + SECOND, now + 9 * SECOND]) {
      const wanted = { ...one, deadline }
      const { retries } = bucket
      const verdict = judge(bucket, wanted, now, bucket.line(now), retries)
      expect(judge(withoutMemory(bucket, true), wanted, now, bucket.line(now), retries)).toEqual(verdict)
      if (retries !== undefined || bucket.usage === undefined || !verdict.accepted) continue
      // The same as by the whole way along the line, to the last bit.
      const end = new LineEnd(withoutMemory(bucket, false), bucket.usage, now, bucket.line(now))
      const { at } = end.departureOf(wanted)
      if (end.isSeen) expect(at).toBe(verdict.departsAt)
      else if (verdict.isEstimate === undefined) expect(at).toBeLessThanOrEqual(verdict.departsAt)
    }
  }
}

test('a verdict by what a bucket remembers of its line is that of the whole way along it', () => {
  const trace = fc.record({
    first: limit,
    steps: fc.array(step, { minLength: 1, maxLength: 50, size: 'max' }),
  })
  fc.assert(
    fc.property(trace, ({ first, steps }) => {
      const store = storeWith(first)
      let now = NOW
      const known: JobRecord[] = []
      const running = () => known.filter(({ state }) => state === 'running')
      const pick = (jobs: readonly JobRecord[], which: number) => jobs[which % Math.max(1, jobs.length)]
      const admit = (part: Parameters<typeof request>[0]) => {
        const answer = store.admit(request(part), now)
        if (!answer.accepted) return
        for (const waiting of store.waiting()) if (waiting.id === answer.id) known.push(waiting)
      }
      for (const asked of steps) {
        if (asked.do === 'admit') {
          const { cost, costs } = asked
          admit({ cost, ...(costs && { costs }) })
        } else if (asked.do === 'many') for (let n = 0; n < asked.jobs; n++) admit({})
        else if (asked.do === 'start') {
          const due = store.nextDeparture()
          if (due > now + 10 * SECOND) continue
          now = Math.max(now, due)
          const started = store.claim(now)
          if (started === undefined) continue
          const slot = store.starts.gate(started, now)
          const [{ bucket }] = [started]
          check(bucket, now)
          now += asked.lateBy
          store.starts.began(started, slot, { calledAt: now, returnedAt: now, delay: 0 })
        } else if (asked.do === 'end') {
          const one = pick(running(), asked.which)
          if (one === undefined) continue
          const readyAt = now + 300 * MS
          const freeze = { kind: 'freeze', readyAt } as const
          store.finish(
            one,
            asked.how === 'done' ? COMPLETED : asked.how === 'retry' ? retryAt(readyAt) : freeze,
            now,
          )
        } else if (asked.do === 'settle') {
          const one = pick(running(), asked.which)
          const hasTokens = one?.bucket.limit.quotas.some(({ unit }) => unit === 'tokens')
          if (one && hasTokens) store.starts.settle(one, { tokens: asked.tokens }, now)
        } else if (asked.do === 'cancel') {
          const one = pick([...store.waiting()], asked.which)
          if (one) store.cancel(one.id, now)
        } else if (asked.do === 'limit')
          store.changeRules({ kind: 'set', rule: parseRule('*', asked.limit) }, now)
        else if (asked.do === 'freeze') store.holds.freeze('a', now + asked.for, now)
        else if (asked.do === 'unfreeze') store.holds.unfreeze('a', now)
        else now += asked.by
        const [one] = store.waiting()
        if (one !== undefined) check(one.bucket, now)
      }
    }),
    { numRuns: 60 },
  )
})
