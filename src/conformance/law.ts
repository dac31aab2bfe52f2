import type { Breach, CheckOptions, HistoryEvent } from './history.ts'
import type { Ledger } from './ledger.ts'

/** Checks one law against a history, event by event. */
export interface LawCheck {
  /** Examines an event. The ledger is still in the state before it. */
  see(event: HistoryEvent): void
  /** Called at the end of the history. */
  finish?(): void
}

/** Creates the check of one law. */
export type OpenCheck = (ledger: Ledger, options: CheckOptions, report: Report) => LawCheck

export type Report = (breach: Breach) => void

/** Formats a time for a message, in seconds to the microsecond. */
export function instant(at: number): string {
  return `${(at / 1_000_000).toFixed(6)} s`
}

/** Formats a duration for a message, in milliseconds to the microsecond. */
export function span(duration: number): string {
  return `${(duration / 1_000).toFixed(3)} ms`
}
