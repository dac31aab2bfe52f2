import { quote } from '../../../src/core/describe.ts'
import { nameOfQuota } from '../../../src/core/quota-input.ts'
import type { BucketView } from '../../../src/index.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Seen } from '../actors/recorder.ts'
import { isLossy } from '../plan/fault.ts'
import type { Failure } from './judge.ts'
import { type Asking, Rooms } from './rooms.ts'
import type { Circumstances } from './troubles.ts'

/** What the store says of a key when all of its jobs have ended; no view: it has forgotten the key. Microseconds of the world. */
export interface Book {
  readonly key: string
  readonly at: number
  readonly view: Pick<BucketView, 'quotas' | 'places'> | undefined
}

/**
 * At the end no place is taken, and quotas count what started within their windows, neither less nor more. Where a limit was changed
 * or the store has lost something, only places are looked at.
 */
export function judgeBooks(
  books: readonly Book[],
  known: Circumstances,
  history: readonly HistoryEvent[],
  seen: readonly Seen[],
  asking: Asking,
): Failure[] {
  const { plan, struck } = known
  const isCounted =
    !plan.actions.some((action) => action.do === 'limit') && !struck.some(({ fault }) => isLossy(fault))
  const rooms = new Rooms(known, seen, asking)
  for (const event of history) rooms.see(event)
  rooms.until(Number.POSITIVE_INFINITY)
  return books.flatMap(({ key, at, view }) => {
    const fail = (message: string): Failure => ({
      law: 'recount',
      at,
      message: `key ${quote(key)}: ${message}`,
    })
    const { taken = 0 } = view?.places ?? {}
    const places =
      taken === 0 ? [] : [fail(`${taken} places are taken, expected none: all of its jobs have ended`)]
    const bounds = isCounted ? (rooms.bounds(key, at) ?? []) : []
    const quotas = bounds.flatMap(({ quota, least, most }) => {
      const { used = 0 } = view?.quotas?.find((one) => one.quota === nameOfQuota(quota)) ?? {}
      if (used >= least && used <= most) return []
      return [fail(`its quota ${nameOfQuota(quota)} counts ${used}, expected ${least} to ${most}`)]
    })
    return [...places, ...quotas]
  })
}
