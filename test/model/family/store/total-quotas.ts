// As src/redis/scripts/lib/charge.lua, of totals: their quotas count the cost of jobs, and their limits do not change.
import * as quota from '../../store/quota.ts'
import { quotasOf } from '../../store/usage.ts'
import type { Total } from './total.ts'

/** How much a cost unit uses of the total, in cost units: by its pace, or by the quota that is used up sooner. `use_by` of share.lua. */
export function useOfUnit({ limit }: Total): number {
  const parts = quotasOf(limit).map(({ amount, window }) => window / (amount * limit.interval))
  return Math.max(1, ...parts)
}

/** The earliest time from `from` on at which the totals have room for so many units each. */
export function roomAt(wanted: readonly (readonly [Total, number])[], from: number): number {
  let at = Number.NaN
  for (let later = from; later !== at; ) {
    at = later
    for (const [total, units] of wanted)
      for (const part of quotasOf(total.limit)) later = quota.roomAt(part, total.use.of(part), units, later)
  }
  return at
}

/** Counts units of a start at that time, or takes them back. */
export function charge(total: Total, units: number, at: number): void {
  for (const part of quotasOf(total.limit)) quota.charge(total, part, total.use.of(part), units, at)
}

/** Forgets what counts no more. */
export function drop({ limit, use }: Total): void {
  for (const part of quotasOf(limit)) use.of(part).drop()
}

/** When nothing counts any more. */
export function lastEnd({ limit, use, ends }: Total): number {
  return Math.max(
    ends.never,
    ...quotasOf(limit).map((part) => use.of(part).entries().at(-1)?.[0] ?? ends.never),
  )
}
