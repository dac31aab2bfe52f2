import { describe, expect, test } from 'vitest'
import { MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { endOfPart } from '../../src/core/quota.ts'
import { at, COMPLETED, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const AMOUNT = 400
const QUOTA = `999, 500/s, ${AMOUNT} tokens/second 1 each, tolerance 0`
/** Of the bucket, or of a total above it. */
const LIMITS: readonly Readonly<Record<string, string>>[] = [
  { '*': QUOTA },
  { '*': '999, 500/s, tolerance 0', 'a/': QUOTA },
]
/** More than a part of the window. */
const EACH = 17 * MILLISECOND

describe.each(DRIVERS)('%s: a quota that many starts were in', (_, open) => {
  // On Redis, so many of the first are kept that those that are over are joined while the lone one counts.
  test.each([
    { first: 1, lone: 300, last: 90 },
    { first: 6, lone: 1, last: 330 },
  ])(
    'counts $first of each, $lone of a lone one, and lets one of $last go when they leave room',
    async (tokens) => {
      for (const limits of LIMITS) {
        const driver = await openFor(open, limits)
        const starts: { readonly until: number; readonly units: number }[] = []
        let now = at(0)
        const start = async (units: number) => {
          const id = `j${starts.length}`
          await driver.admit(request(id, { key: 'a/b', costs: { tokens: units } }), now)
          const used = () => starts.reduce((sum, one) => (one.until > now ? sum + one.units : sum), 0)
          while (used() + units > AMOUNT) {
            expect(await driver.startNext(now), `${id} at ${now - at(0)}`).toBeUndefined()
            now = Math.min(...starts.flatMap(({ until }) => (until > now ? until : [])))
          }
          expect((await driver.startNext(now))?.id, `at ${now - at(0)}`).toBe(id)
          starts.push({ until: endOfPart(SECOND, now), units })
          await driver.finish(id, COMPLETED, now)
          now += EACH
        }
        // The sum of those before may be of an even or an odd number.
        for (let round = 0; round < 2; round++) {
          for (let n = 0; n < 58 + round; n++) await start(tokens.first)
          now += 700 * MILLISECOND
          await start(tokens.lone)
          now += 200 * MILLISECOND
          for (let n = 0; n < 42; n++) await start(1)
          await start(tokens.last)
          now += 9 * SECOND
        }
      }
    },
  )
})
