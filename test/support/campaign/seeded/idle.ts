import { basename } from 'node:path'
import type { HistoryEvent } from '../../../../src/testing.ts'
import { type HistoryRecord, readRecords } from '../history-file.ts'
import type { SeededPlan } from './plan.ts'

interface Span {
  /** The record of the process that it was done to; absent: Redis, and with it all. */
  readonly path?: string | undefined
  readonly from: number
  readonly until: number
}

/**
 * Whether nothing that was done to a run met a job: every job had ended by then, or none had come yet, or a producer had nothing
 * more to ask. Such a run shows nothing.
 *
 * @param history what was decided, by the host's clock
 */
export function isIdle(
  { producers, keys }: Pick<SeededPlan, 'producers' | 'keys'>,
  paths: readonly string[],
  history: readonly HistoryEvent[],
): boolean {
  const files = new Map(paths.map((path) => [path, readRecords(path)]))
  const jobs = livesIn(history)
  const metJob = ({ from, until }: Span) => jobs.some((job) => job.from <= until && job.until >= from)
  const metCall = ({ path = '', from }: Span) => {
    const records = files.get(path) ?? []
    const answered = records.flatMap((record) => (record.kind === 'answered' ? [record.at] : []))
    const asked = new Set(
      records.flatMap((record) => (record.kind === 'asked' ? record.asked.map(({ id }) => id) : [])),
    )
    const least = Math.min(...producers.map(({ jobs, keys: own = keys }) => jobs * own.length))
    return asked.size < least || answered.some((at) => at >= from)
  }
  const isMet = (span: Span) =>
    basename(span.path ?? '').startsWith('producer') ? metCall(span) : metJob(span)
  return ![...files.values()].flat().flatMap(spanOf).some(isMet)
}

function spanOf(record: HistoryRecord): Span[] {
  return record.kind === 'disturbed' || record.kind === 'stood' ? [record] : []
}

/** From the admission of each job to its end. */
function livesIn(history: readonly HistoryEvent[]): Span[] {
  const admitted = new Map<string, number>()
  const ended = new Map<string, number>()
  for (const event of history) {
    if (event.type === 'answer' && event.accepted && !admitted.has(event.id)) admitted.set(event.id, event.at)
    if (event.type === 'end') ended.set(event.id, event.at)
  }
  return [...admitted].map(([id, from]) => ({ from, until: ended.get(id) ?? Number.POSITIVE_INFINITY }))
}
