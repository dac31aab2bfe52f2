import { MILLISECOND } from '../core/duration.ts'
import type { Hold } from '../core/hold.ts'
import { type Limit, parseStoredLimit } from '../core/limit.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import { formatRate } from '../core/rate.ts'
import { counted, frozenText, numeral, pausedText, placesText, quotaText } from './hold-text.ts'
import type { TotalFacts, WaitFacts } from './job-facts.ts'

export function limitOf({ limit, pattern }: TotalFacts): Limit {
  return parseStoredLimit(limit, pattern)
}

export function rateOf(total: TotalFacts): string {
  return formatRate(limitOf(total).rate)
}

/** The departure of the family with which a job goes; 1: the next. */
export function turnOf({ ahead }: TotalFacts): number {
  return Math.round(ahead) + 1
}

/** When a total lets a job go: not before its quotas have room. */
export function departureUnder({ departsAt, quota }: TotalFacts): number {
  return Math.max(departsAt, quota?.until ?? departsAt)
}

/** When all limits let a job go that waits. */
export function departureOf({ departsAt, under }: WaitFacts): number {
  return Math.max(departsAt, ...(under?.totals ?? []).map(departureUnder))
}

/** The total that lets a job go last, if that is not before `own`, when its own limit does, and later than now. */
export function bindingTotal(
  totals: readonly TotalFacts[],
  own: number,
  now: number,
): TotalFacts | undefined {
  let binding: TotalFacts | undefined
  for (const total of totals) {
    const at = departureUnder(total)
    if (at > now && at >= own && (binding === undefined || at > departureUnder(binding))) binding = total
  }
  return binding
}

/** `17 others of stripe/ share 100/s; about the 4th turn from now`. */
function shareText(total: TotalFacts): string {
  const { path, others, weight, weights } = total
  const rate = rateOf(total)
  const turn = turnOf(total) === 1 ? 'it goes next' : `about the ${numeral(turnOf(total))} turn from now`
  if (others === 0) return `${path} lets ${rate} depart; ${turn}`
  const share = `${counted(others, 'other')} of ${path} ${others === 1 ? 'shares' : 'share'} ${rate}`
  const isEven = Math.abs(weights - weight * (others + 1)) < weight * 1e-6
  return `${share}${isEven ? '' : `, of which it has ${formatShare(weight / weights)}`}; ${turn}`
}

/** Why a total lets a job go last; without `now` the time at which a quota has room is left out. */
export function bindingText(total: TotalFacts, now?: number): string {
  const { path, quota } = total
  if (quota === undefined) return shareText(total)
  return `${quotaText(limitOf(total), { ...quota, isOwn: true }, now)}, below ${path}`
}

/** What a total does to a job by itself: its pause, its places, its freeze and its quotas. */
export function holdsOfTotal(total: TotalFacts, now: number): Hold[] {
  const { path, paused, isFull, frozenUntil, quota } = total
  const limit = limitOf(total)
  const holds: Hold[] = []
  if (paused) holds.push({ reason: 'paused', total: path, detail: pausedText(path) })
  if (isFull) holds.push({ reason: 'place', total: path, detail: `${placesText(limit)} of ${path}` })
  if (frozenUntil > now) {
    holds.push({
      reason: 'frozen',
      until: frozenUntil / MILLISECOND,
      total: path,
      detail: frozenText(path),
    })
  }
  if (quota !== undefined && quota.until > now) {
    const name = nameOfQuota(limit.quotas[quota.index]!)
    const detail = bindingText(total, now)
    holds.push({ reason: 'quota', until: quota.until / MILLISECOND, quota: name, total: path, detail })
  }
  return holds
}

/** That a job waits for its turn below a total. */
export function shareHold(total: TotalFacts): Hold {
  return {
    reason: 'total',
    until: total.departsAt / MILLISECOND,
    total: total.path,
    detail: shareText(total),
  }
}

/** What of all totals holds a job that they let go at `departsAt`, in one line; undefined: another limit holds it. */
export function lastHoldUnder(
  totals: readonly TotalFacts[],
  departsAt: number,
  now: number,
): Hold | undefined {
  for (const reason of ['paused', 'place'] as const) {
    for (const total of totals) {
      const hold = holdsOfTotal(total, now).find((one) => one.reason === reason)
      if (hold !== undefined) return hold
    }
  }
  const binding = bindingTotal(totals, departsAt, now)
  if (binding === undefined) return undefined
  const until = departureUnder(binding) / MILLISECOND
  return holdsOfTotal(binding, now).find((one) => one.until === until) ?? shareHold(binding)
}

function formatShare(share: number): string {
  const percent = share * 100
  return percent < 1 ? 'less than 1 %' : `${Math.round(percent)} %`
}
