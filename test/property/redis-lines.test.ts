import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../src/conformance/conformance.ts'
import { SECOND } from '../../src/core/duration.ts'
import { limit, perform, steps } from '../support/line-steps.ts'
import { LineTrace } from '../support/line-trace.ts'
import { lookAt, openRedisBackend } from '../support/redis-driver.ts'

const MS = 1_000
/**
 * A slot is granted 250 ms ahead at most, and its start may be 250 ms late, or, of a caller that died with it, count a second
 * later: so long an older limit is obeyed.
 */
const NEWS = 1_300 * MS

test('whatever is lost, late, or reported twice: all is counted, in order, spaced, and ends', async () => {
  await fc.assert(
    fc.asyncProperty(limit, steps, async (first, happenings) => {
      const backend = await openRedisBackend({ limits: { '*': first } })
      const trace = new LineTrace(backend, lookAt(), first)
      for (const { lapse, verb } of happenings) {
        trace.now += lapse
        await perform(trace, verb)
        await trace.counts()
      }
      await trace.drain()
      const breaches = checkHistory(trace.history, { lag: NEWS, settle: NEWS })
      expect(breaches.filter(({ law }) => law === 'L2' || law === 'L4' || law === 'L5')).toEqual([])
      // A bucket with quotas is remembered for as long as the silence before the first claim lasted.
      trace.now += 7_200 * SECOND
      await trace.claim(0, 1, [0])
      await trace.leavesNothing()
    }),
    // `npm run test:fuzz` runs many more. Time is left to say which trace it was: looking for a shorter one has no end.
    { numRuns: 150, interruptAfterTimeLimit: 45_000 },
  )
})
