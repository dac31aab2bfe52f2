import { type Breach, type CheckOptions, checkHistory, type HistoryEvent } from '../../../../src/testing.ts'
import { GRANTED_AHEAD, type Loss } from '../history-file.ts'

export interface LossOptions extends CheckOptions {
  /** When a call was made that had no answer when the store died: it may have admitted a job of which nothing is known. */
  readonly unansweredFrom?: number
}

/**
 * The first judge, where the store died and may have lost what it had decided. All until its death is judged as if it had not:
 * nothing was lost yet. Of the whole, starts too early are never excused, and a job only from what the loss of its own admission,
 * start or end explains. Jobs that came when the store was back for good are judged as those of any run, but for their refusals:
 * what they found in the line is not known.
 */
export function judgeLosses(
  history: readonly HistoryEvent[],
  losses: readonly Loss[],
  { unansweredFrom = Number.POSITIVE_INFINITY, ...options }: LossOptions = {},
): Breach[] {
  if (losses.length === 0) return checkHistory(history, options)
  const died = Math.min(unansweredFrom, ...losses.map(({ at }) => at))
  const before = history.filter(({ at }) => at < died)
  const breaches = [
    ...checkHistory(before, { ...options, unfinished: true }),
    ...checkHistory(history, options).filter((breach) => !isExcused(breach, history, losses)),
    ...checkHistory(ofNewJobs(history, losses), options),
  ]
  const unique = new Map(breaches.map((breach) => [`${breach.law} ${breach.at} ${breach.id}`, breach]))
  return [...unique.values()].sort((a, b) => a.at - b.at)
}

/** Limits, faults, and all of the jobs of which nothing was heard before the store was back. */
function ofNewJobs(history: readonly HistoryEvent[], losses: readonly Loss[]): HistoryEvent[] {
  const back = Math.max(...losses.map(({ to }) => to))
  const old = new Set(
    history.flatMap((event) => ('id' in event && !isRefusal(event) && event.at < back ? [event.id] : [])),
  )
  return history.filter((event) => {
    if (event.type === 'audit' || isRefusal(event)) return false
    return !('id' in event) || !old.has(event.id)
  })
}

function isRefusal(event: HistoryEvent): boolean {
  return event.type === 'answer' && !event.accepted
}

function isExcused(
  { law, id, at, message }: Breach,
  history: readonly HistoryEvent[],
  losses: readonly Loss[],
): boolean {
  if (law === 'L2') return false
  // That an audit does not balance by itself, no loss explains.
  if (law === 'L9') return !message.includes(' waiting + ')
  if (law !== 'L5') return true
  const isExplanation = (event: HistoryEvent) => {
    if (message.includes('has no end')) return event.type === 'answer'
    if (message.includes('expected one acceptance')) return event.type === 'answer'
    return event.type === 'start' || event.type === 'return' || event.type === 'end'
  }
  // A slot that was granted before the death is used up to `GRANTED_AHEAD` after the return, and the start after it is explained.
  const isWithin = (event: HistoryEvent, { from, to }: Loss) =>
    event.at >= from && (event.at <= to || (event.at <= to + GRANTED_AHEAD && event.at < at))
  return history.some(
    (event) =>
      'id' in event &&
      event.id === id &&
      isExplanation(event) &&
      losses.some((loss) => isWithin(event, loss)),
  )
}
