import type { Audit, EndEvent, HistoryEvent, ReturnEvent } from '../../src/conformance/history.ts'
import { type Limit, parseLimit } from '../../src/core/limit.ts'
import type { Quota } from '../../src/core/quota.ts'
import type { Costs } from '../../src/core/usage.ts'
import type { RejectReason } from '../../src/core/verdict.ts'

/** Words to write a history with; times are milliseconds, the key is `a` unless given, the cost 1. */
interface Where {
  readonly key?: string
  readonly cost?: number
  readonly costs?: Costs
}

const us = (ms: number) => ms * 1_000

export function limit(
  at: number,
  text: string,
  key = 'a',
  parts: Partial<Pick<Limit, 'quotas' | 'concurrency'>> = {},
): HistoryEvent {
  return { type: 'limit', at: us(at), key, limit: { ...parseLimit(text), ...parts } }
}

/** A quota of `amount` in `lengthMs` milliseconds or in a period of a calendar, of cost units or of `unit`. */
export function quota(amount: number, window: number | Quota['window'], unit?: string, each?: number): Quota {
  return { amount, unit, each, window: typeof window === 'number' ? { length: us(window) } : window }
}

export function accept(
  at: number,
  id: string,
  { key = 'a', cost = 1, ...more }: Where & { seq?: number } = {},
): HistoryEvent {
  return { type: 'answer', at: us(at), id, key, cost, accepted: true, departsAt: us(at), ...more }
}

export function reject(
  at: number,
  id: string,
  {
    key = 'a',
    cost = 1,
    reason = 'full',
    retryAt,
    ...more
  }: Where & { reason?: RejectReason; retryAt: number; isEstimate?: boolean },
): HistoryEvent {
  return { type: 'answer', at: us(at), id, key, cost, accepted: false, reason, retryAt: us(retryAt), ...more }
}

export function promise(at: number, id: string, startsBy: number, key = 'a'): HistoryEvent {
  return { type: 'promise', at: us(at), id, key, startsBy: us(startsBy) }
}

export function start(
  at: number,
  id: string,
  {
    key = 'a',
    cost = 1,
    attempt = 1,
    readAt,
    ...more
  }: Where & { attempt?: number; readAt?: number; fence?: number; isHeld?: boolean } = {},
): HistoryEvent {
  const read = readAt === undefined ? {} : { readAt: us(readAt) }
  return { type: 'start', at: us(at), id, key, cost, attempt, ...read, ...more }
}

export function settle(
  at: number,
  id: string,
  amounts: Costs,
  { key = 'a', fence }: { key?: string; fence?: number } = {},
): HistoryEvent {
  return { type: 'settle', at: us(at), id, key, amounts, ...(fence !== undefined && { fence }) }
}

export function release(at: number, id: string, key = 'a'): HistoryEvent {
  return { type: 'release', at: us(at), id, key }
}

export function giveBack(at: number, id: string, reason: ReturnEvent['reason'], readyAt = at): HistoryEvent {
  return { type: 'return', at: us(at), id, reason, readyAt: us(readyAt) }
}

export function end(at: number, id: string, outcome: EndEvent['outcome'] = 'completed'): HistoryEvent {
  return { type: 'end', at: us(at), id, outcome }
}

export function freeze(at: number, until: number, key = 'a'): HistoryEvent {
  return { type: 'freeze', at: us(at), key, until: us(until) }
}

export function unfreeze(at: number, key = 'a'): HistoryEvent {
  return { type: 'unfreeze', at: us(at), key }
}

export function pause(at: number, key = 'a'): HistoryEvent {
  return { type: 'pause', at: us(at), key }
}

export function resume(at: number, key = 'a'): HistoryEvent {
  return { type: 'resume', at: us(at), key }
}

export function fault(at: number, id: string, leaseUntil?: number): HistoryEvent {
  return { type: 'fault', at: us(at), id, ...(leaseUntil !== undefined && { leaseUntil: us(leaseUntil) }) }
}

export function audit(at: number, counts: Partial<Audit>): HistoryEvent {
  const none = { admitted: 0, waiting: 0, handed: 0, running: 0, retrying: 0, ended: 0 }
  return { type: 'audit', at: us(at), ...none, ...counts }
}

/** A whole job: accepted at 0 (or `from`), started at `at`, completed a millisecond later. */
export function run(at: number, id: string, where: Where & { from?: number } = {}): HistoryEvent[] {
  return [accept(where.from ?? 0, id, where), start(at, id, where), end(at + 1, id)]
}

/** Puts events in the order of time; those at the same time keep their order. */
export function inOrder(...events: (HistoryEvent | HistoryEvent[])[]): HistoryEvent[] {
  return events.flat().sort((a, b) => a.at - b.at)
}
