/**
 * - line: other jobs depart before it
 * - slot: it waits for its slot, one spacing after the previous departure
 * - quota: a quota of the limit, or of a total, holds it, or holds a job before it
 * - place: as many attempts run as the limit, or a total, allows at once
 * - total: it waits for its turn among those that share a total above its bucket
 * - frozen, paused: its bucket is, or a total above it
 * - backoff: its last attempt failed, and the next may not begin yet
 * - handed: it was released from the line and is on the way to a worker, or waits there
 * - busy: it is due, but no handler is free for its key
 * - no-worker: no worker takes jobs; on Redis, there is no trace of one
 * - no-rule: no limit applies to its key any more; it departs by the limit that its bucket had
 */
export const HOLD_REASONS = [
  'line',
  'slot',
  'quota',
  'place',
  'total',
  'frozen',
  'paused',
  'no-worker',
  'busy',
  'backoff',
  'handed',
  'no-rule',
] as const

export type HoldReason = (typeof HOLD_REASONS)[number]

/** A reason why a job waits. */
export interface Hold {
  readonly reason: HoldReason
  /** Milliseconds since the epoch; absent if unknown. */
  readonly until?: number
  /** The quota, as text such as `90000 tokens/minute`; only of `quota`. */
  readonly quota?: string
  /** The total that holds it, such as `stripe/`; absent where its bucket does. */
  readonly total?: string
  readonly detail: string
}
