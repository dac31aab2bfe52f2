import type { Audit, EndEvent, HistoryEvent, ReturnEvent } from '../../src/conformance/history.ts'
import { parseLimit } from '../../src/core/limit.ts'
import type { RejectReason } from '../../src/core/verdict.ts'

/** Words to write a history with; times are milliseconds, the key is `a` unless given, the cost 1. */
interface Where {
  readonly key?: string
  readonly cost?: number
}

const us = (ms: number) => ms * 1_000

export function limit(at: number, text: string, key = 'a'): HistoryEvent {
  return { type: 'limit', at: us(at), key, limit: parseLimit(text) }
}

export function accept(
  at: number,
  id: string,
  { key = 'a', cost = 1, seq }: Where & { seq?: number } = {},
): HistoryEvent {
  const base = { type: 'answer', at: us(at), id, key, cost, accepted: true, departsAt: us(at) } as const
  return seq === undefined ? base : { ...base, seq }
}

export function reject(
  at: number,
  id: string,
  { key = 'a', cost = 1, reason = 'full', retryAt }: Where & { reason?: RejectReason; retryAt: number },
): HistoryEvent {
  return { type: 'answer', at: us(at), id, key, cost, accepted: false, reason, retryAt: us(retryAt) }
}

export function start(
  at: number,
  id: string,
  { key = 'a', cost = 1, attempt = 1 }: Where & { attempt?: number } = {},
): HistoryEvent {
  return { type: 'start', at: us(at), id, key, cost, attempt }
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

export function fault(at: number, id: string): HistoryEvent {
  return { type: 'fault', at: us(at), id }
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
