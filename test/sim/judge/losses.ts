import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import { type Fault, isLossy, isTelling } from '../plan/fault.ts'

/** What a process knew when a fault struck, and had not written down, was decided in the last moments; microseconds. */
const UNDER_WAY = 2_000_000

/**
 * Holds a history against the laws. What happened before the first fault is judged by how long news take where nothing is in
 * their way; what happened before the store lost its first write, or before its clock was set, in full and by itself: a later
 * loss explains nothing of it. Jobs that were accepted after a loss are in order and reach one end, as those of a run without one. Of
 * the whole history counts what a loss cannot explain.
 *
 * @param lagBefore how long news may take in what happens before that time; microseconds
 * @param handed so much of the time of a total may be handed over and not have started; microseconds
 */
export function judgeAroundLosses(
  history: readonly HistoryEvent[],
  struck: readonly Struck[],
  lagBefore: (at: number) => number,
  unfinished: boolean,
  handed = 0,
): Breach[] {
  const lost = struck.filter(({ fault }) => isLossy(fault)).map((loss) => firstLost(loss, struck))
  const set = struck.filter(({ fault }) => fault.kind === 'step').map(({ from }) => from)
  const isDoubtful = lost.length + set.length > 0
  const begins = [Math.min(...struck.map(({ from }) => from)), Math.min(...lost, ...set)]
  const before = begins.filter(Number.isFinite).flatMap((until) => {
    const lag = lagBefore(until)
    const part = history.filter(({ at }) => at < until)
    return checkHistory(part, { lag, settle: lag, handed, unfinished: true })
  })
  const lag = lagBefore(Number.POSITIVE_INFINITY)
  const whole = checkHistory(history, { lag, settle: lag, handed, unfinished })
  const counted = isDoubtful ? whole.filter((breach) => counts(breach, lost.length > 0)) : whole
  const all = [...before, ...counted, ...judgeAfterLosses(history, struck, lag, unfinished)]
  return all.filter((breach, at) => all.findIndex(({ message }) => message === breach.message) === at)
}

/** Order, and one end for each: of the jobs that were accepted between a loss and the next, whatever was lost before. */
function judgeAfterLosses(
  history: readonly HistoryEvent[],
  struck: readonly Struck[],
  lag: number,
  unfinished: boolean,
): Breach[] {
  const losses = struck.filter(({ fault }) => isLossy(fault)).toSorted((a, b) => a.until - b.until)
  return losses.flatMap(({ until: from }, index) => {
    const later = losses.slice(index + 1).map((loss) => firstLost(loss, struck))
    const until = Math.min(...later)
    const older = new Set(history.flatMap((event) => ('id' in event && event.at < from ? [event.id] : [])))
    const part = history.filter((event) => {
      if (event.type === 'audit' || event.at >= until) return false
      return event.type === 'limit' || (event.at >= from && !('id' in event && older.has(event.id)))
    })
    const isOpen = unfinished || until < Number.POSITIVE_INFINITY
    const found = checkHistory(part, { lag, settle: lag, unfinished: isOpen })
    return found.filter(({ law }) => law === 'L4' || law === 'L5')
  })
}

/** When the store lost its first write; microseconds. */
export function doubtfulFrom(struck: readonly Struck[]): number {
  return Math.min(...struck.filter(({ fault }) => isLossy(fault)).map((loss) => firstLost(loss, struck)))
}

/** When the first write happened that a loss took; microseconds. */
export function firstLost({ fault, from }: Struck, struck: readonly Struck[]): number {
  const { keeps } = fault as Extract<Fault, { kind: 'restart' }>
  if (typeof keeps === 'object') return from - keeps.butLast * 1_000
  // Nothing is left of which the store could be asked: what a process has not written down by then is not known.
  const untold = struck.filter(({ fault: other }) => isTelling(other)).map((other) => other.from)
  return Math.min(from, ...untold) - UNDER_WAY
}

/** What can be said of the whole of a history whose store forgot, or whose clock was set. */
function counts({ law, message }: Breach, isLossyRun: boolean): boolean {
  if (isLossyRun) return law === 'L2' && !/frozen|paused/.test(message)
  return !/while the key was frozen|was asked to retry/.test(message)
}
