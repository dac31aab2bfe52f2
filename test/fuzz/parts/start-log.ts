import { type LimitSpec, nameOf, type QuotaSpec, SECOND, windowOf } from './limit-spec.ts'

/** What one start counts: its cost, and what it counts in units that it names or that it was settled in. */
export interface Started {
  readonly at: number
  readonly cost: number
  readonly costs: Readonly<Record<string, number>>
}

/** A start so close to the end of a calendar's period counts in both. */
const BOUNDARY = 1.001 * SECOND

/** What a start counts in a quota. */
export const chargeIn = ({ unit, each }: QuotaSpec, { cost, costs }: Omit<Started, 'at'>) =>
  unit === undefined ? cost : Object.hasOwn(costs, unit) ? costs[unit]! : each!

/** When the entries end in which a start counts: one, or two near the boundary of a period. */
function endsOf(quota: QuotaSpec, at: number): number[] {
  const window = windowOf(quota)
  if (quota.in === undefined) {
    // A start counts until the last moment of its 60th of the window has left it.
    const part = Math.ceil(window / 60)
    return [(Math.floor(at / part) + 1) * part + window]
  }
  const ends = [at - BOUNDARY, at + BOUNDARY].map(
    (near) => (Math.floor(near / window) + 1) * window + BOUNDARY,
  )
  return [...new Set(ends)]
}

/** What the quota counts now, summed up over all starts that there ever were. */
export function usedAt(quota: QuotaSpec, starts: readonly Started[], now: number): number {
  const sumOf = (counts: (end: number) => boolean) =>
    starts
      .filter(({ at }) => endsOf(quota, at).some(counts))
      .reduce((sum, start) => sum + chargeIn(quota, start), 0)
  if (quota.in === undefined) return sumOf((end) => end > now)
  return Math.max(...endsOf(quota, now).map((end) => sumOf((other) => other === end)))
}

/** When the quota has room for one more job that names nothing: the first moment, of all at which something stops to count. */
export function roomAt(quota: QuotaSpec, starts: readonly Started[], now: number): number {
  const next = quota.each ?? 1
  const hasRoom = (at: number) => usedAt(quota, starts, at) + next <= quota.amount
  const moments = [now, ...starts.flatMap(({ at }) => endsOf(quota, at))].filter((at) => at >= now)
  return moments.sort((one, other) => one - other).find(hasRoom)!
}

/** What `inspect` and the API show of the quotas. */
export const quotasSeen = ({ quotas }: LimitSpec, starts: readonly Started[], now: number) =>
  quotas.map((quota) => {
    const room = roomAt(quota, starts, now)
    return {
      quota: nameOf(quota),
      used: usedAt(quota, starts, now),
      amount: quota.amount,
      ...(room > now && { roomAt: room / 1_000 }),
    }
  })
