import { isTotal } from '../../../src/core/key.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import { type HistoryFile, readRecords } from './history-file.ts'
import { hostNow } from './host-time.ts'
import { runningIn } from './merge-histories.ts'
import type { ShaperPlan } from './plans.ts'

/** How long before its slot a job may be handed over; microseconds. */
const FARTHEST_LOOK_AHEAD = 250_000
/** Jobs of a key that may have left the line while a process dies. */
const STARTING = 2
/** A lease of 5 s that is renewed each third lasts so long at the least, also where a renewal was late; microseconds. */
const SURELY_LEASED = 1_000_000

/** A process that failed; without a worker and callers it held no jobs, so that none loses its place. */
type Failed = Pick<ShaperPlan, 'limit' | 'limits' | 'file'> & {
  readonly worker?: { readonly leaseMs?: number } | object | undefined
  readonly caller?: unknown
}

/** Writes down that a process died or stood still: what it ran is due to start once more; what it held may lose its place. */
export function noteFault(file: HistoryFile, plan: Failed, stoodAt = hostNow()): void {
  const { file: of, limit, limits = {}, worker, caller } = plan
  const { ids, lastAt, atWork } = runningIn(of)
  // After the start that it interrupts, also where that was the last thing that the process did.
  const at = Math.max(stoodAt, lastAt + 1)
  const leaseUntil = at + surelyLeased(plan)
  for (const id of ids) {
    const event = { type: 'fault', at, id, ...(atWork.has(id) && { leaseUntil }) } as const
    file.write({ kind: 'event', clock: 'host', event, of })
  }
  if (worker === undefined && caller === undefined) return
  const ofKeys = Object.entries(limits).flatMap(([pattern, text]) => (isTotal(pattern) ? [] : [text]))
  const intervals = [limit, ...ofKeys].map((text) => parseLimit(text).interval)
  const handed = Math.ceil(FARTHEST_LOOK_AHEAD / Math.min(...intervals)) + STARTING
  file.write({ kind: 'event', clock: 'host', event: { type: 'crash', at, handed } })
}

/**
 * Writes down that a process stood still from `from` until now; a fault only where that may be longer than what is left of its
 * leases, which are renewed each third.
 */
export function noteStop(file: HistoryFile, plan: Failed, from: number, leaseMs: number | undefined): void {
  const until = hostNow()
  const losesLeases = leaseMs !== undefined && (until - from) / 1_000 >= (leaseMs * 2) / 3
  if (losesLeases) noteFault(file, plan, from)
  const records = readRecords(plan.file).length
  const leaseUntil = from + surelyLeased(plan)
  file.write({ kind: 'stood', path: plan.file, from, until, losesLeases, records, leaseUntil })
}

/** For how long the leases of a process last at the least; microseconds. */
function surelyLeased({ worker }: Failed): number {
  const leaseMs = worker !== undefined && 'leaseMs' in worker ? (worker.leaseMs ?? 0) : 0
  return Math.min((leaseMs * 1_000) / 3, SURELY_LEASED)
}
