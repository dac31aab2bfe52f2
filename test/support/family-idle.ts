import { parseLimit } from '../../src/core/limit.ts'
import { isRolling } from '../../src/core/quota.ts'
import type { Driver } from './backend-driver.ts'

/** No job of a trace counts more in any quota. */
const MOST_COUNTED = 60

/**
 * The keys whose jobs nothing holds at `now`: neither their own limit, nor a pace, places, a freeze or a pause of a total above them, nor
 * may a quota of a total hold the job whose turn it is. Where both lines let none go, there must be no such key: work is not put off
 * while there is room for it, and a key that its own limit holds costs the others nothing.
 */
export async function freeToGo(driver: Driver, now: number): Promise<string[]> {
  const { families } = await driver.families({ sort: 'path', limit: 1_000 }, now)
  const closed = families.filter(({ limit, paused, frozenUntil = 0, places, quotas = [] }) => {
    if (paused || frozenUntil * 1_000 > now || (places !== undefined && places.taken >= places.of))
      return true
    return parseLimit(limit).quotas.some(
      ({ window, amount }, n) => !isRolling(window) || quotas[n]!.used + MOST_COUNTED > amount,
    )
  })
  const { buckets } = await driver.list({ sort: 'key', limit: 1_000 }, now)
  const free = buckets.filter(({ key, waiting, nextDepartureAt = Number.POSITIVE_INFINITY }) => {
    if (waiting === 0 || nextDepartureAt * 1_000 > now) return false
    return !closed.some(({ path }) => `${key}/`.startsWith(path))
  })
  return free.map(({ key }) => key)
}
