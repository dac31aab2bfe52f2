import type { Breach, CheckOptions, HistoryEvent } from './history.ts'
import type { Ledger } from './ledger.ts'

/** One law, held against a history event by event. */
export interface LawCheck {
  /** Looks at an event; the ledger stands as it was just before it. */
  see(event: HistoryEvent): void
  /** The history is over. */
  finish?(): void
}

/** Opens the case of one law. */
export type Law = (ledger: Ledger, options: CheckOptions, report: Report) => LawCheck

export type Report = (breach: Breach) => void

/** An instant for a message, in seconds to the microsecond. */
export function instant(at: number): string {
  return `${(at / 1_000_000).toFixed(6)} s`
}

/** A length of time for a message, in milliseconds to the microsecond. */
export function span(duration: number): string {
  return `${(duration / 1_000).toFixed(3)} ms`
}
