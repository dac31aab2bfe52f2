import type { AuditEvent } from './history.ts'
import { instant, type Law } from './law.ts'
import type { Ledger } from './ledger.ts'

/**
 * L9: each audit balances by itself and equals what the history says at that moment. From outside nobody can tell
 * waiting from handed over, so the two count as one with retrying; and a job that a fault hit may count as
 * running or as one of these.
 */
export const conservation: Law = (ledger, _options, report) => ({
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
  if (ended !== counts.ended) return `${ended} ended, expected ${counts.ended} by the history`
  const mostRunning = counts.running + counts.interrupted
  if (running < counts.running || running > mostRunning) {
    const expected = counts.interrupted === 0 ? counts.running : `${counts.running} to ${mostRunning}`
    return `${running} running, expected ${expected} by the history`
  }
  const mostRetrying = counts.returned + counts.interrupted
  if (retrying <= mostRetrying) return undefined
  return `${retrying} retrying, expected at most ${mostRetrying} by the history`
}
