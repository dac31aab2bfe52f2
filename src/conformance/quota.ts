import { quote } from '../core/describe.ts'
import type { Quota } from '../core/quota.ts'
import type { SettleEvent, StartEvent } from './history.ts'
import type { KeyRecord } from './key-record.ts'
import { instant, type OpenCheck, type Report, span } from './law.ts'
import type { Ledger } from './ledger.ts'
import type { Excess } from './quota-book.ts'
import { whyUnsettleable } from './settling.ts'

/**
 * L10: at each start, every quota of a limit in force has room for it: what started in its window, or in the same period of its
 * zone, settled or else estimated, plus the estimate of this start is at most the amount. A start within a second of a boundary
 * counts in both periods. A job above the whole amount may start when nothing else counts. A quota of a changed limit goes on
 * from those before it (see quota-book.ts).
 *
 * Rolling windows are judged by the clocks that handlers read first, if the history has these times, and periods by the clock of
 * the line. An attempt settles once, while it runs; from then on its start counts that. It breaks no law afterwards if that is
 * more than there was room for. The store learns of it up to `lag` later: until then the smaller amount counts.
 */
export const quota: OpenCheck = (ledger, _options, report) => ({
  see(event) {
    if (event.type === 'start') judgeStart(event, ledger, report)
    else if (event.type === 'settle') judgeSettling(event, ledger, report)
  },
})

function judgeStart(start: StartEvent, ledger: Ledger, report: Report): void {
  const key = ledger.key(start.key)
  const excess = leastExcess(start, key, start.costs ?? ledger.job(start.id)?.costs)
  if (excess === undefined) return
  const { at, readAt = at, id } = start
  const { amount, unit = 'cost units' } = excess.quota
  report({
    law: 'L10',
    at,
    key: start.key,
    id,
    message:
      `key ${quote(start.key)}: the start of job ${quote(id)} at ${instant(readAt)} made ${excess.used + excess.units} ` +
      `${unit} start ${windowText(excess.quota)}, ${excess.used} before it, expected at most ${amount}`,
  })
}

/** Returns what is wrong under the newest limit, unless some limit in force allows the start. */
function leastExcess(start: StartEvent, key: KeyRecord, costs: StartEvent['costs']): Excess | undefined {
  const { at, readAt = at, cost } = start
  const excesses: Excess[] = []
  for (const limit of key.limitsAt(at)) {
    const excess = key.quotas.excess(limit, { cost, costs }, readAt, at)
    if (excess === undefined) return undefined
    excesses.push(excess)
  }
  return excesses[0]
}

function judgeSettling(event: SettleEvent, ledger: Ledger, report: Report): void {
  const { at, key, id, amounts } = event
  const why = whyUnsettleable(event, ledger.job(id))
  if (why === undefined) return
  const counted = Object.entries(amounts).map(([unit, units]) => `${units} ${quote(unit)}`)
  const what = `job ${quote(id)} settled ${counted.join(' and ')} at ${instant(at)}`
  report({ law: 'L10', at, key, id, message: `key ${quote(key)}: ${what} ${why}` })
}

function windowText({ window }: Quota): string {
  return 'length' in window ? `within ${span(window.length)}` : `in one ${window.period} of ${window.zone}`
}
