import type { HistoryRecord } from './history-file.ts'
import { type Disturbance, heardBy } from './second-judge/news.ts'

/** Each process asks the store for its time each second: one that comes so long after the last was held up. Microseconds. */
const PULSE_IS_LATE = 2_000_000

type Files = ReadonlyMap<string, readonly HistoryRecord[]>

/**
 * When each process was held up, and its news with it, though nothing was done to it: by its own record it came to no exchange
 * with the store, which it has each second. How busy the machine is must not make a breach.
 */
export function heldUp(files: Files): Disturbance[] {
  return [...files].flatMap(([path, records]) => {
    const pulse = records.flatMap((record) => (record.kind === 'clock' ? [record.at] : []))
    // In memory there is one look at the clock and no more.
    if (pulse.length < 2) return []
    const last = records.flatMap(momentsOf).reduce((most, at) => Math.max(most, at), pulse.at(-1)!)
    return [...pulse, last].flatMap((until, index, all) => {
      const from = all[index - 1] ?? until
      return until - from > PULSE_IS_LATE ? [{ path, from, until }] : []
    })
  })
}

/** For how long a start of these may be news to the line: `lag`, or longer where its process was held up and had not been stopped. */
export function lagOf(files: Files, lag: number): number {
  const stops = [...files.values()].flat().filter((record) => record.kind === 'stood')
  const spans = heldUp(files).filter(
    (span) =>
      !stops.some(({ path, from, until }) => path === span.path && from <= span.until && until >= span.from),
  )
  if (spans.length === 0) return lag
  let longest = lag
  for (const [path, records] of files)
    for (const record of records) {
      if (record.kind !== 'event' || record.event.type !== 'start') continue
      const { at } = record.event
      longest = Math.max(longest, heardBy(at, path, lag, spans) - at)
    }
  return longest
}

/** When the process wrote this record, as far as it says; by the host's clock. */
function momentsOf(record: HistoryRecord): number[] {
  if (record.kind === 'event') {
    const at = record.seenAt ?? (record.clock === 'host' ? record.event.at : undefined)
    return at === undefined ? [] : [at]
  }
  return 'at' in record ? [record.at] : []
}
