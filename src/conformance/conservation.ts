import type { AuditEvent } from './history.ts'
import type { JobState } from './job-record.ts'
import type { KeyRecord } from './key-record.ts'
import { instant, type OpenCheck } from './law.ts'
import type { Ledger } from './ledger.ts'

/**
 * L9: each audit balances by itself and equals what the history says at that moment. An observer cannot tell waiting
 * from handed over, so these two count as one with retrying; and a job hit by a fault may count as running or as one of
 * these. A start, a return or an end of a handler within the last `lag` may be counted or not.
 */
export const conservation: OpenCheck = (ledger, _options, report) => ({
  see(event) {
    if (event.type !== 'audit') return
    const wrong = imbalance(event) ?? difference(event, ledger)
    if (wrong === undefined) return
    report({ law: 'L9', at: event.at, message: `the audit at ${instant(event.at)} counts ${wrong}` })
  },
})

function imbalance(audit: AuditEvent): string | undefined {
  const { admitted, waiting, handed, running, retrying, ended } = audit
  const sum = waiting + handed + running + retrying + ended
  if (admitted === sum) return undefined
  return (
    `${admitted} admitted, expected ${sum}: ${waiting} waiting + ${handed} handed + ${running} running + ` +
    `${retrying} retrying + ${ended} ended`
  )
}

function difference(audit: AuditEvent, ledger: Ledger): string | undefined {
  const { admitted, running, retrying, ended } = audit
  const { counts } = ledger
  if (admitted !== ledger.accepted.length) {
    return `${admitted} admitted, expected ${ledger.accepted.length} by the history`
  }
  const mayNotBe = (...states: JobState[]) => unheard(ledger, ({ news }) => news.mayNotBeIn(audit.at, states))
  const mayBe = (...states: JobState[]) => unheard(ledger, ({ news }) => news.mayBeIn(audit.at, states))
  const leastEnded = counts.ended - mayNotBe('ended')
  if (ended < leastEnded || ended > counts.ended) {
    return `${ended} ended, expected ${range(leastEnded, counts.ended)} by the history`
  }
  const leastRunning = counts.running - mayNotBe('running')
  const mostRunning = counts.running + counts.interrupted + mayBe('running', 'interrupted')
  if (running < leastRunning || running > mostRunning) {
    return `${running} running, expected ${range(leastRunning, mostRunning)} by the history`
  }
  const mostRetrying = counts.returned + counts.interrupted + mayBe('returned', 'interrupted')
  if (retrying <= mostRetrying) return undefined
  return `${retrying} retrying, expected at most ${mostRetrying} by the history`
}

function unheard(ledger: Ledger, jobsOf: (key: KeyRecord) => readonly unknown[]): number {
  let count = 0
  for (const key of ledger.keys) count += jobsOf(key).length
  return count
}

function range(least: number, most: number): string {
  return least === most ? `${least}` : `${least} to ${most}`
}
