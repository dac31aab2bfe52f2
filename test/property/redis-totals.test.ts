import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../src/conformance/conformance.ts'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { limit, perform, stepsOn } from '../support/line-steps.ts'
import { LineTrace } from '../support/line-trace.ts'
import { lookAt, openRedisBackend } from '../support/redis-driver.ts'

const MS = 1_000
/** As for a line without totals: see redis-lines.test.ts. */
const NEWS = 1_300 * MS
const KEYS = ['a/1', 'a/1', 'a/2', 'a/x/1', 'a/x/2', 'b']

const ofTotal = fc.constantFrom(
  '30, 10/s',
  '20, 20/s',
  '9, 4/s',
  '40, 100/s',
  '30, 20/s, 2 at once',
  '30, 50/s, 8/second',
  '30, 20/s, tolerance 0',
)
const totals = fc.dictionary(fc.constantFrom('a/', 'a/x/', 'a/*/'), ofTotal, { minKeys: 1 })

test('below totals, whatever is lost, late or reported twice: all is counted, and the total is kept', async () => {
  await fc.assert(
    fc.asyncProperty(limit, totals, stepsOn(...KEYS), async (ofKeys, ofFamilies, happenings) => {
      const limits = { '*': ofKeys, ...ofFamilies }
      const backend = await openRedisBackend({ limits })
      const trace = new LineTrace(backend, lookAt(), ofKeys, [...new Set(KEYS)])
      const known = new Map(
        KEYS.flatMap((key) => backend.rules.book.totalsOf(key)).map((total) => [total.path, total]),
      )
      for (const [path, { limit }] of known)
        trace.history.push({ type: 'limit', at: trace.now, key: path, limit })
      for (const { lapse, verb } of happenings) {
        trace.now += lapse
        await perform(trace, verb)
        await trace.counts()
      }
      await trace.drain()
      const breaches = checkHistory(trace.history, { lag: NEWS, settle: NEWS })
      expect(
        breaches.filter(
          ({ law }) => law === 'L2' || law === 'L4' || law === 'L5' || law === 'L10' || law === 'L11',
        ),
      ).toEqual([])
      trace.now += 7_200 * SECOND
      await trace.claim(0, 1, [0])
      await trace.leavesNothing()
    }),
    {
      numRuns: 60,
      interruptAfterTimeLimit: 45_000,
    },
  )
})

const change = fc.record({
  at: fc.nat(100),
  pattern: fc.constantFrom('a/', 'a/x/', 'a/*/'),
  /** Absent: there is none any more. */
  limit: fc.option(ofTotal, { nil: undefined }),
})

test('totals that come, change and go under a backlog lose nothing, and what is counted stays right', async () => {
  await fc.assert(
    fc.asyncProperty(
      limit,
      fc.array(change, { minLength: 1, maxLength: 6 }),
      stepsOn(...KEYS),
      async (ofKeys, changes, happenings) => {
        const backend = await openRedisBackend({ limits: { '*': ofKeys } })
        const trace = new LineTrace(backend, lookAt(), ofKeys, [...new Set(KEYS)])
        for (const [index, { lapse, verb }] of happenings.entries()) {
          trace.now += lapse
          for (const { at, pattern, limit } of changes) {
            if (at % happenings.length !== index) continue
            const change =
              limit === undefined
                ? ({ kind: 'unset', pattern } as const)
                : ({ kind: 'set', rule: parseRule(pattern, limit) } as const)
            await backend.rules.change(change, trace.now)
            await trace.counts()
          }
          await perform(trace, verb)
          await trace.counts()
        }
        await trace.drain()
        const laws = checkHistory(trace.history, { lag: NEWS, settle: NEWS }).map(({ law }) => law)
        expect(laws.filter((law) => law === 'L2' || law === 'L4' || law === 'L5')).toEqual([])
        trace.now += 7_200 * SECOND
        await trace.claim(0, 1, [0])
        await trace.leavesNothing()
      },
    ),
    { numRuns: 60, interruptAfterTimeLimit: 45_000 },
  )
})
