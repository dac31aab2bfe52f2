import { heldUp } from '../held-up.ts'
import { type EventRecord, type HistoryRecord, isEvent, readFiles } from '../history-file.ts'
import { keyLimitsOf, totalsOf } from '../limits-of.ts'
import { excusesIn } from '../merge-histories.ts'
import { missedSlotsIn, nameOfStart } from '../missed-slots.ts'
import type { ShaperPlan } from '../plans.ts'
import { heardBy } from './news.ts'
import { leasesIn, settlesIn } from './places.ts'
import type { Call, End, Return, Start, Testimony } from './testimony.ts'

/** While a process stands still, what it is given then is held up as well; microseconds. */
const EVERY = 200_000

/** Reads what each process wrote down. @param lag see `Testimony` */
export function collect(
  paths: readonly string[],
  plan: Pick<ShaperPlan, 'keys' | 'limit' | 'limits'>,
  lag: number,
): Testimony {
  const recordsOf = readFiles(paths)
  const files = [...recordsOf].map(([path, records]) => ({ path, records }))
  const all = files.flatMap(({ records }) => records)
  const stops = all.filter((record) => record.kind === 'stood' && record.losesLeases)
  const done = all.filter((record) => record.kind === 'disturbed' || record.kind === 'stood')
  const disturbances = [...done, ...heldUp(recordsOf)]
  const excuses = excusesIn(recordsOf)
  const events = all.filter(isEvent)
  const untilOf = leasesIn(recordsOf)
  return {
    limits: keyLimitsOf(plan),
    totals: totalsOf(plan),
    calls: files.flatMap(({ records }) => callsIn(records)),
    starts: files.flatMap(({ path, records }) => {
      const until = stops.flatMap((stop) => (stop.kind === 'stood' && stop.path === path ? [stop.until] : []))
      return startsIn(records, until).map((start) => {
        const until = untilOf(path, start)
        return { ...start, process: path, until, heardBy: heardBy(start.at, path, lag, disturbances) }
      })
    }),
    returns: events.flatMap(returnOf),
    ends: endsIn(events),
    settles: files.flatMap(({ records }) => settlesIn(records)),
    faults: events.flatMap((record) => {
      const { event, of = '' } = record
      return event.type === 'fault' && excuses.has(record)
        ? [{ at: event.at, id: event.id, process: of }]
        : []
    }),
    crashes: crashesIn(all),
    lag,
    moves: all.flatMap((record) => (record.kind === 'moved' ? [record.at] : [])),
    losses: all.filter((record) => record.kind === 'lost'),
  }
}

function callsIn(records: readonly HistoryRecord[]): Call[] {
  const answered = new Map(
    records.flatMap((record) => (record.kind === 'answered' ? [[record.call, record] as const] : [])),
  )
  return records.flatMap((record) => {
    if (record.kind !== 'asked') return []
    const answer = answered.get(record.call)
    const isKnown = answer !== undefined && answer.answers !== 'unknown'
    return record.asked.map((asked, place): Call => {
      const to = isKnown ? answer.at : Number.POSITIVE_INFINITY
      const text = isKnown ? answer.answers[place]! : 'unknown'
      const deadline = asked.deadlineMs === undefined ? undefined : asked.deadlineMs * 1_000
      return { ...asked, from: record.at, to, answer: text, place, deadline }
    })
  })
}

/**
 * Starts that handlers read. A handler that found its signal aborted in its first statement, as the first thing that its process did
 * after it had stood still for long enough to lose its lease, made no call: no protocol can prevent that, and the signal did.
 */
function startsIn(records: readonly HistoryRecord[], stops: readonly number[]): Omit<Start, 'process'>[] {
  const late = new Set(
    records.flatMap((record) => (record.kind === 'late' ? [`${record.at} ${record.id}`] : [])),
  )
  const missed = missedSlotsIn(records)
  const starts = records.flatMap((record) => {
    if (record.kind !== 'event' || record.event.type !== 'start') return []
    const { event, fence, data } = record
    return [{ ...event, fence, data, missedSlot: missed.has(nameOfStart(event)) }]
  })
  const excused = new Set(
    stops
      .map((until) => starts.find(({ at }) => at >= until))
      .filter((start) => start && late.has(`${start.at} ${start.id}`)),
  )
  return starts.filter((start) => !excused.has(start))
}

function returnOf({ event, seenAt }: EventRecord): Return[] {
  if (event.type !== 'return') return []
  return [{ id: event.id, seenAt: seenAt ?? Number.POSITIVE_INFINITY, isFreeze: event.reason === 'freeze' }]
}

/** What the store was asked for afterwards counts where no process heard of the end. */
function endsIn(events: readonly EventRecord[]): End[] {
  const ends = events.flatMap(({ event, seenAt, found }) =>
    event.type === 'end'
      ? [{ id: event.id, outcome: event.outcome, seenAt: seenAt ?? Number.POSITIVE_INFINITY, found }]
      : [],
  )
  const heard = new Set(ends.filter(({ found }) => found !== true).map(({ id }) => id))
  return ends.filter(({ id, found }) => found !== true || !heard.has(id))
}

function crashesIn(records: readonly HistoryRecord[]): Testimony['crashes'][number][] {
  return records.flatMap((record, index) => {
    if (record.kind !== 'event' || record.event.type !== 'crash') return []
    const { at, handed } = record.event
    const next = records[index + 1]
    const until = next?.kind === 'stood' ? next.until : at
    const moments = Array.from({ length: Math.floor((until - at) / EVERY) + 1 }, (_, n) => at + n * EVERY)
    return moments.map((moment) => ({ at: moment, handed }))
  })
}
