import { isVelvetRopeError, LeaseLostError, type Shaper } from '../../../src/index.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'

const MS = 1_000

/** Writes down what the store decided, as it is reported to this process. Starts are written by the handlers. */
export function recordShaper(shaper: Shaper, file: HistoryFile): void {
  const write = (event: HistoryEvent, total?: string) =>
    file.write({ kind: 'event', clock: 'store', event, seenAt: hostNow(), ...(total && { total }) })
  shaper
    .on('admitted', ({ id, key, cost, costs, departsAt, isEstimate, at }) => {
      const said = { departsAt: departsAt * MS, ...(isEstimate && { isEstimate }) }
      write({ type: 'answer', at: at * MS, id, key, cost, ...(costs && { costs }), accepted: true, ...said })
    })
    .on('rejected', ({ id = '', key, cost, costs, reason, retryAfterMs, isEstimate, total, at }) => {
      const said = { reason, retryAt: (at + retryAfterMs) * MS, ...(isEstimate && { isEstimate }) }
      const asked = { id, key, cost, ...(costs && { costs }) }
      write({ type: 'answer', at: at * MS, ...asked, accepted: false, ...said }, total)
    })
    .on('settled', ({ id, key, amounts, fence, at }) =>
      write({ type: 'settle', at: at * MS, id, key, amounts, fence }),
    )
    .on('released', ({ id, key, at }) => write({ type: 'release', at: at * MS, id, key }))
    .on('holdExpired', ({ id, key, at }) => write({ type: 'release', at: at * MS, id, key }))
    .on('completed', ({ id, at }) => write({ type: 'end', at: at * MS, id, outcome: 'completed' }))
    .on('failed', ({ id, at, retryAt, error }) => {
      if (retryAt !== undefined) {
        write({ type: 'return', at: at * MS, id, reason: 'retry', readyAt: retryAt * MS })
        return
      }
      const event = { type: 'end', at: at * MS, id, outcome: 'failed' } as const
      const lost = isVelvetRopeError(error, 'worker-lost')
      file.write({ kind: 'event', clock: 'store', event, seenAt: hostNow(), lost })
    })
    .on('returned', ({ id, at, retryAt }) =>
      write({ type: 'return', at: at * MS, id, reason: 'freeze', readyAt: retryAt * MS }),
    )
    .on('cancelled', ({ id, at }) => write({ type: 'end', at: at * MS, id, outcome: 'cancelled' }))
    .on('expired', ({ id, at }) => write({ type: 'end', at: at * MS, id, outcome: 'expired' }))
    .on('frozen', ({ key, at, until }) => write({ type: 'freeze', at: at * MS, key, until: until * MS }))
    .on('unfrozen', ({ key, at }) => write({ type: 'unfreeze', at: at * MS, key }))
    .on('error', (error) => {
      if (error instanceof LeaseLostError) file.write({ kind: 'lease-lost', at: hostNow(), id: error.id })
      console.error(error)
    })
}
