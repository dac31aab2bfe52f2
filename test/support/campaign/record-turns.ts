import type { JobView, Shaper } from '../../../src/index.ts'
import { isTurnId } from '../turn-id.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'

const MS = 1_000

interface DepartedTurn {
  readonly id: string
  /** By the host's clock. */
  readonly at: number
  /** The turn of the event loop in which it departed is over. */
  isOver: boolean
}

/** Which turn a caller was given, by what was returned to it. */
export type TurnOf = (turn: {
  readonly key: string
  readonly departedAt: number
}) => Readonly<DepartedTurn> | undefined

/**
 * Writes down the departures of the turns of this process, in the tick in which each departs; and of the turns of
 * others that end in this process what their own may not have lived to write: that they were admitted.
 */
export function recordTurns(shaper: Shaper, file: HistoryFile): TurnOf {
  const admitted = new Set<string>()
  const departed = new Map<string, DepartedTurn>()
  const search = async ({ id }: { readonly id: string }) => {
    if (!isTurnId(id) || admitted.has(id)) return
    const job = await shaper.job(id)
    if (job !== undefined) noteAdmission(job, file)
  }
  shaper
    .on('admitted', ({ id }) => void admitted.add(id))
    .on('departed', ({ id, key, cost, attempt, at, isHeld }) => {
      // Handlers write down their starts themselves.
      if (!isTurnId(id)) return
      const event = {
        type: 'start',
        at: hostNow(),
        id,
        key,
        cost,
        attempt,
        ...(isHeld && { isHeld }),
      } as const
      file.write({ kind: 'event', clock: 'host', event })
      const turn = { id, at: event.at, isOver: false }
      departed.set(`${at} ${key}`, turn)
      setImmediate(() => {
        turn.isOver = true
      })
    })
    .on('cancelled', search)
    .on('expired', search)
    .on('failed', search)
  return ({ key, departedAt }) => departed.get(`${departedAt} ${key}`)
}

/** What the store says of an admission that no process may have written down. */
export function noteAdmission(
  { id, key, cost, costs, admittedAt }: JobView,
  file: Pick<HistoryFile, 'write'>,
): void {
  const at = admittedAt * MS
  const named = { id, key, cost, ...(costs && { costs }) }
  const event = { type: 'answer', at, ...named, accepted: true, departsAt: at } as const
  file.write({ kind: 'event', clock: 'store', event, found: true })
}
