import { rejected } from '../../core/admission.ts'
import type { Rejected } from '../../core/job.ts'
import type { LayeredBook } from '../../core/layered-book.ts'
import { nameOfQuota } from '../../core/quota-input.ts'
import { REJECT_REASONS } from '../../core/verdict.ts'
import { type Answer, flag, list, number, optional, row, text, word } from '../scripts/reply.ts'

/** A refusal by a total above the key, as scripts answer it: the waiting units and the capacity are those of the total. */
export const byTotal = {
  retryAt: number,
  waiting: number,
  capacity: number,
  reason: word(...REJECT_REASONS),
  isEstimate: flag,
  at: text,
  /** The number of the quota that the job alone exceeds, from 1 on; 0: none. */
  quota: number,
}
const byTotalRow = row(byTotal)

/** What the totals above a bucket have to do with a job: see `places_above` in scripts/lib/above.lua. */
export const totalRow = list(
  row({
    path: text,
    pattern: text,
    limit: text,
    others: number,
    weight: number,
    weights: number,
    ahead: number,
    departsAt: number,
    frozenUntil: number,
    paused: flag,
    isFull: flag,
    quota: optional(row({ index: number, until: number, units: number, needed: number, used: number })),
  }),
)

/** @param book the rules that the script was asked with */
export function rejectedByTotal(
  key: string,
  refusal: Answer<typeof byTotalRow>,
  now: number,
  book: Pick<LayeredBook, 'totalsOf'>,
): Rejected {
  const { retryAt, waiting, capacity, reason, isEstimate, at } = refusal
  const quota = book.totalsOf(key).find(({ path }) => path === at)?.limit.quotas[refusal.quota - 1]
  const further = { ...(isEstimate && { isEstimate }), ...(quota && { quota: nameOfQuota(quota) }) }
  return rejected(key, reason, { retryAt, waiting, capacity, at, ...further }, now)
}
