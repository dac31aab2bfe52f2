import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { parseLimit } from '../../src/core/limit.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { COMPLETED, RedisStage } from '../conformance/redis-stage.ts'
import { at } from '../support/backend-driver.ts'
import { PartsModel } from '../support/parts-model.ts'
import { recount } from '../support/recount.ts'

const MS = 1_000
/** With `tolerance 0` every clock judges a start alike. */
const LIMITS = [
  '30, 10/s, 7/second',
  '30, 20/s, 5/second, 12 per 7 seconds',
  '25, 4/s, warm-up 2s, 6 per 3 seconds',
  '30, 40/s, 3000 tokens/minute 100 each, 10 per 2 seconds',
  '30, 10/s, 500 tokens per 5 seconds 40 each, 3 at once',
  '20, 20/s, 2 at once',
  '30, 20/s, 9 per hour in Europe/Berlin',
  '30, 20/s, 5/second, 8 per hour in Australia/Lord_Howe, 14 per day in America/Los_Angeles',
  '30, 20/s, 700 tokens per day in Asia/Beirut 40 each, 30 per week in Europe/Berlin',
  '12, 5/s',
].map((text) => `${text}, tolerance 0`)

/** Fifteen seconds before an hour, a day or a week ends, or a clock is set: in Los Angeles, Berlin, Beirut (at midnight), Lord Howe. */
const MOMENTS = [1_700_035_200, 1_710_064_800, 1_711_836_000, 1_711_846_800, 1_712_415_600, 1_729_990_800]
const start = fc.constantFrom(...MOMENTS).map((moment) => (moment - 15) * SECOND)

const limit = fc.constantFrom(...LIMITS)
const which = fc.nat(1_000)
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('admit' as const),
      cost: fc.integer({ min: 1, max: 4 }),
      tokens: fc.option(fc.integer({ min: 1, max: 600 })),
      patience: fc.option(fc.integer({ min: 1, max: 20_000 * MS }), { freq: 2 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('finish' as const), which }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('settle' as const), which, tokens: fc.nat(700) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('pass' as const), by: fc.integer({ min: 1, max: 3_000 * MS }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      by: fc.constantFrom(10 * SECOND, 600 * SECOND),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limit' as const), limit }) },
)

test('Redis and the core answer alike under limits of several parts', { timeout: 600_000 }, async () => {
  const trace = fc.record({ start, limit, steps: fc.array(step, { minLength: 20, maxLength: 80 }) })
  await fc.assert(
    fc.asyncProperty(trace, async ({ start: startedAt, limit: first, steps }) => {
      const stage = await RedisStage.open(first, { openedAt: startedAt })
      const model = new PartsModel(parseLimit(first))
      const fences = new Map<string, number>()
      const handed = new Map<string, { id: string; epoch: number }>()
      let now = startedAt
      let number = 0
      for (const asked of steps) {
        now += 1
        const seconds = (now - at(0)) / SECOND
        if (asked.do === 'admit') {
          const { cost, tokens, patience } = asked
          const deadline = patience === null ? Number.POSITIVE_INFINITY : now + patience
          const job = { id: `j${number++}`, cost, costs: tokens === null ? undefined : { tokens }, deadline }
          const verdict = model.admit(job, now)
          const { admission } = await stage.admit(job.id, seconds, job)
          const { accepted, isEstimate } = admission
          expect({ accepted, isEstimate }).toEqual({
            accepted: verdict.accepted,
            isEstimate: verdict.isEstimate,
          })
          if (admission.accepted && verdict.accepted) {
            expect(admission.departsAt).toBe(verdict.departsAt / MILLISECOND)
          } else if (!admission.accepted && !verdict.accepted) {
            expect(admission.reason).toBe(verdict.reason)
            expect(admission.retryAfterMs).toBeCloseTo(
              Math.max(1, Math.ceil((verdict.retryAt - now) / MILLISECOND - 0.0005)),
              3,
            )
          }
        } else if (asked.do === 'start') {
          // At the time of the model, and not before.
          const { due } = model
          if (due > now + 20 * SECOND) expect((await stage.claim(seconds)).jobs).toEqual([])
          if (due > now + 20 * SECOND) continue
          if (due > now + 1) {
            const early = (Math.ceil(due) - 1 - at(0)) / SECOND
            expect((await stage.claim(early)).jobs).toEqual([])
          }
          now = Math.max(now, Math.ceil(due))
          const then = (now - at(0)) / SECOND
          const [job] = await stage.hand(then)
          expect(job?.id).toBe(model.line[0]!.id)
          if (model.line[0]!.deadline < now) {
            expect(await stage.gate(job!, then)).toMatchObject({ kind: 'expired' })
            model.expire()
            continue
          }
          const started = model.start(now)
          const grant = await stage.gate(job!, then)
          expect(grant).toMatchObject({ kind: 'granted', slot: started.slot })
          if (grant.kind === 'granted') fences.set(job!.id, grant.job.fence)
          expect(await stage.start(job!, then)).toBe(true)
          handed.set(job!.id, job!)
        } else if (asked.do === 'finish') {
          const running = [...model.running.keys()]
          const id = running[asked.which % Math.max(1, running.length)]
          if (id === undefined) continue
          model.finish(id)
          expect(await stage.finish(handed.get(id)!, COMPLETED, seconds)).toMatchObject({ isMine: true })
        } else if (asked.do === 'settle') {
          const running = [...model.running.keys()]
          const id = running[asked.which % Math.max(1, running.length)]
          const hasTokens = model.bucket.limit.quotas.some(({ unit }) => unit === 'tokens')
          if (id === undefined || !hasTokens) continue
          const amounts = { tokens: asked.tokens }
          const request = { id, key: 'a', fence: fences.get(id)!, amounts }
          expect(await stage.backend.verbs.settle(request, now)).toBe(model.settle(id, amounts))
        } else if (asked.do === 'pass') now += asked.by
        else {
          model.changeLimit(parseLimit(asked.limit), now)
          await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', asked.limit) }, now)
        }
      }
      expect(await recount(stage.redis, stage.tag)).toEqual([])
    }),
    { numRuns: 60 },
  )
})
