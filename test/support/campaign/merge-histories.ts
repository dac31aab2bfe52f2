import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../turn-id.ts'
import { causesIn } from './causes.ts'
import {
  type EventRecord,
  type HistoryRecord,
  isEvent,
  isOver,
  isStart,
  readFiles,
  readRecords,
  type StartRecord,
} from './history-file.ts'
import { type Known, type Reading, type StoreClock, storeClock } from './store-offset.ts'
import { unansweredSettles } from './unanswered-settles.ts'

/** What many processes wrote down, as one history on the host's clock; without what totals refused, which says nothing of a key. */
export interface MergedHistory {
  readonly history: HistoryEvent[]
  /** The calls that said that the store is away. */
  readonly unavailable: readonly UnavailableRecord[]
}

type UnavailableRecord = HistoryRecord & { kind: 'unavailable' }

/**
 * Puts the records of all files in the order in which things happened. The store is one, so one offset serves all
 * that it decided, and keeps the order in which it did so.
 *
 * @throws Error when the clock of the store was moved and no record says so: then nothing can be said of the order
 */
export function mergeHistories(paths: readonly string[], reading?: Reading): MergedHistory {
  const byPath = readFiles(paths)
  const files = [...byPath.values()]
  const offset = storeClock(files.flat(), reading)
  const causes = new Map(files.flatMap((file) => [...causesIn(file)]))
  const stops = files.flat().filter((record) => record.kind === 'stood' && record.losesLeases)
  const returns = unreportedReturns(byPath)
  const excuses = excusesIn(byPath)
  for (const { learned } of returns) excuses.delete(learned)
  const inTime = files.map((file, index) => withoutLateStarts(file, stopsOf(stops, paths[index]!)))
  const counts = (record: EventRecord) =>
    record.total === undefined && (record.event.type !== 'fault' || excuses.has(record))
  const events = withoutRepetition(inTime.map((file) => file.filter(isEvent).filter(counts)))
  const firstStarts = new Map<string, StartRecord>()
  for (const record of events.flat()) {
    if (!isStart(record)) continue
    const known = firstStarts.get(record.event.id)
    if (known === undefined || record.event.at < known.event.at) firstStarts.set(record.event.id, record)
  }
  const history = events.flatMap((file) => {
    const startedAt = new Map<string, number>()
    return file.map((record) => {
      const known = { after: causes.get(record), seenAt: record.seenAt }
      const event = fateOf(onHostClock(record, offset, known), record.lost === true, firstStarts)
      if (event.type === 'start') startedAt.set(event.id, event.at)
      if (event.type === 'return' || event.type === 'end' || event.type === 'settle')
        return notBefore(event, startedAt.get(event.id))
      if (event.type === 'answer' && event.accepted) {
        return beforeStart(event, record.replayed === true, firstStarts.get(event.id), offset)
      }
      return event
    })
  })
  return {
    history: [...history, ...returns.map(({ event }) => event), ...files.flatMap(unansweredSettles)].sort(
      (a, b) => a.at - b.at,
    ),
    unavailable: files.flat().filter((record) => record.kind === 'unavailable'),
  }
}

/** The last events of the handlers that a process had started and not ended. `atWork`: those whose handlers had not returned. */
export function runningIn(path: string): {
  readonly ids: readonly string[]
  readonly lastAt: number
  readonly atWork: ReadonlySet<string>
} {
  const running = new Set<string>()
  const atWork = new Set<string>()
  let lastAt = 0
  for (const record of readRecords(path)) {
    if (isOver(record)) atWork.delete(record.id)
    if (record.kind !== 'event') continue
    const { event } = record
    if (event.type === 'start') {
      running.add(event.id)
      atWork.add(event.id)
    }
    if (event.type === 'return' || event.type === 'end') {
      running.delete(event.id)
      atWork.delete(event.id)
    }
    if (record.clock === 'host') lastAt = event.at
  }
  return { ids: [...running], lastAt, atWork }
}

/** Jobs that were accepted and of which no end is written. */
export function withoutEnd(paths: readonly string[]): string[] {
  const open = new Set<string>()
  const records = paths.flatMap(readRecords).filter((record) => record.kind === 'event')
  for (const { event } of records) if (event.type === 'answer' && event.accepted) open.add(event.id)
  for (const { event } of records) if (event.type === 'end') open.delete(event.id)
  return [...open]
}

/**
 * The faults that excuse a start each: a process failed while it ran a job, so that this start of the job may be followed by
 * another. A process that stood still and then died excuses one, not two; and one that had not started the job excuses none.
 */
export function excusesIn(files: ReadonlyMap<string, readonly HistoryRecord[]>): Set<HistoryRecord> {
  const excuses = new Set<HistoryRecord>()
  const used = new Set<HistoryRecord>()
  const faults = [...files.values()].flat().filter(isEvent)
  for (const fault of faults.toSorted((a, b) => a.event.at - b.event.at)) {
    const { event, of = '' } = fault
    if (event.type !== 'fault') continue
    const interrupted = files
      .get(of)
      ?.filter(isStart)
      .findLast((start) => start.event.id === event.id && start.event.at <= event.at)
    if (interrupted === undefined || used.has(interrupted)) continue
    used.add(interrupted)
    excuses.add(fault)
  }
  return excuses
}

interface UnreportedReturn {
  readonly event: HistoryEvent
  /** The record that says that the process lost the job: it lost the lease, or it died. */
  readonly learned: HistoryRecord
}

/**
 * The retries that no process wrote down. The store got the report of a failed attempt, but its answer was lost, and the job was
 * handed over again before the report was repeated; or the process died before the answer came. That the attempt counted as
 * failed shows in the next one's number: a job that is taken back without a report keeps it.
 */
function unreportedReturns(files: ReadonlyMap<string, readonly HistoryRecord[]>): UnreportedReturn[] {
  const all = [...files.values()].flat()
  const starts = all.filter(isStart)
  return [...files].flatMap(([path, file]) => {
    const deaths = all.filter(isEvent).flatMap((record) => {
      return record.event.type === 'fault' && record.of === path
        ? [{ learned: record, id: record.event.id }]
        : []
    })
    const losses = file.flatMap((record) => {
      return record.kind === 'lease-lost' ? [{ learned: record, id: record.id }] : []
    })
    return [...deaths, ...losses].flatMap(({ learned, id }): UnreportedReturn[] => {
      const known = file.includes(learned) ? file.indexOf(learned) : file.length
      const last = file.slice(0, known).findLastIndex((each) => each.kind === 'settled' && each.id === id)
      const settled = file[last]
      if (settled?.kind !== 'settled') return []
      const isReported = file.slice(last).some((each) => {
        return (
          isEvent(each) && (each.event.type === 'return' || each.event.type === 'end') && each.event.id === id
        )
      })
      const next = starts.find(({ event }) => event.id === id && event.at > settled.at)
      if (isReported || next?.event.attempt !== settled.attempt + 1) return []
      return [
        { event: { type: 'return', at: settled.at, id, reason: 'retry', readyAt: settled.at }, learned },
      ]
    })
  })
}

function stopsOf(stops: readonly HistoryRecord[], path: string): number[] {
  return stops.flatMap((stop) => (stop.kind === 'stood' && stop.path === path ? [stop.until] : []))
}

/**
 * Without the starts that no protocol can prevent: a process was stopped between its last look at the clock and the
 * handler's first statement, which is then the first that the process does when it goes on, and its signal is aborted
 * by then. There can be one for each stop that is long enough to lose a lease.
 */
function withoutLateStarts(file: readonly HistoryRecord[], stops: readonly number[]): HistoryRecord[] {
  const late = new Set(
    file.flatMap((record) => (record.kind === 'late' ? [`${record.at} ${record.id}`] : [])),
  )
  const excused = new Set<HistoryRecord>()
  for (const until of stops) {
    const first = file.find(
      (record) => record.kind === 'event' && record.event.type === 'start' && record.event.at >= until,
    )
    if (first?.kind !== 'event' || first.event.type !== 'start') continue
    if (late.has(`${first.event.at} ${first.event.id}`)) excused.add(first)
  }
  return file.filter((record) => !excused.has(record))
}

/** What the store was asked for counts once, and only where no process that knew of it wrote it down. */
function withoutRepetition(files: readonly EventRecord[][]): EventRecord[][] {
  const nameOf = ({ event }: EventRecord) => {
    // A job that was rejected may have been accepted later.
    if (event.type === 'answer') return `${event.accepted} ${event.id}`
    return 'id' in event ? `${event.type} ${event.id}` : event.type
  }
  const written = new Set<string>()
  for (const record of files.flat()) if (record.found !== true) written.add(nameOf(record))
  const isNews = (record: EventRecord) => {
    if (record.found !== true) return true
    const isFirst = !written.has(nameOf(record))
    written.add(nameOf(record))
    return isFirst
  }
  return files.map((file) => file.filter(isNews))
}

/**
 * A caller that was granted a slot in a process that fell silent, and had not used it, was given up in the line. A job is never
 * given up like that: one that failed without a start is a breach.
 */
function fateOf(
  event: HistoryEvent,
  isLost: boolean,
  firstStarts: ReadonlyMap<string, StartRecord>,
): HistoryEvent {
  if (event.type !== 'end' || !isLost || !isTurnId(event.id) || firstStarts.has(event.id)) return event
  return { ...event, outcome: 'cancelled' }
}

function onHostClock({ event, clock }: EventRecord, offsetAt: StoreClock, known: Known): HistoryEvent {
  if (clock === 'host') return withInfinity(event)
  const offset = offsetAt(event.at, known)
  const at = event.at + offset
  switch (event.type) {
    case 'answer':
      return event.accepted
        ? { ...event, at, departsAt: event.departsAt + offset }
        : { ...event, at, retryAt: (event.retryAt ?? Number.POSITIVE_INFINITY) + offset }
    case 'return':
      return { ...event, at, readyAt: event.readyAt + offset }
    case 'freeze':
      return { ...event, at, until: event.until + offset }
    default:
      return withInfinity({ ...event, at })
  }
}

/** JSON has no infinity: a limit that bounds nothing at once was written with null. */
function withInfinity(event: HistoryEvent): HistoryEvent {
  if (event.type !== 'limit') return event
  const { concurrency } = event.limit
  return { ...event, limit: { ...event.limit, concurrency: concurrency ?? Number.POSITIVE_INFINITY } }
}

/** The comparison of the clocks errs by no more, which must not turn cause and effect around; microseconds. */
const CLOCKS_APART = 2_000

function notBefore<Event extends HistoryEvent>(event: Event, startedAt = event.at): Event {
  return startedAt - event.at > CLOCKS_APART ? event : { ...event, at: Math.max(event.at, startedAt) }
}

function beforeStart<Event extends HistoryEvent>(
  event: Event,
  replayed: boolean,
  start: StartRecord | undefined,
  offset: StoreClock,
): Event {
  if (start === undefined) return event
  const at =
    replayed && start.admittedAt !== undefined
      ? start.admittedAt + offset(start.admittedAt, { seenAt: start.event.at })
      : event.at
  if (!replayed && at - start.event.at > CLOCKS_APART) return event
  return { ...event, at: Math.min(at, start.event.at - 1) }
}
