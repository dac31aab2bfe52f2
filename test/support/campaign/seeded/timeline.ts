import { basename } from 'node:path'
import type { HistoryEvent } from '../../../../src/testing.ts'
import { causesIn } from '../causes.ts'
import { type HistoryRecord, readRecords } from '../history-file.ts'
import { type StoreClock, storeClock } from '../store-offset.ts'

interface Line {
  readonly at: number
  readonly who: string
  readonly what: string
  /** Undefined: it concerns all. */
  readonly key?: string | undefined
}

/** What to show: the time around which, and whose. */
export interface Focus {
  readonly at: number
  readonly key?: string | undefined
  readonly id?: string | undefined
}

const AROUND = 1_500_000
const MOST_LINES = 80

/** Who did what and when, around a breach: a line each, milliseconds from the beginning of the run. */
export function timeline(paths: readonly string[], focus: Focus): string {
  const lines = linesOf(paths)
  const begin = lines[0]?.at ?? 0
  const isOf = ({ at, what, key }: Line) =>
    (focus.id !== undefined && what.split(' ').includes(focus.id)) ||
    (Math.abs(at - focus.at) <= AROUND && (key === undefined || focus.key === undefined || key === focus.key))
  const shown = lines.filter(isOf)
  const nearest = shown
    .toSorted((a, b) => Math.abs(a.at - focus.at) - Math.abs(b.at - focus.at))
    .slice(0, MOST_LINES)
  const text = nearest
    .sort((a, b) => a.at - b.at)
    .map(({ at, who, what }) => {
      const mark = Math.abs(at - focus.at) < 1 ? '>' : ' '
      return `  ${mark}${((at - begin) / 1_000).toFixed(3).padStart(11)} ms  ${who.padEnd(11)} ${what}`
    })
  if (shown.length > nearest.length) text.push(`   (${shown.length - nearest.length} more within 1.5 s)`)
  return text.join('\n')
}

function linesOf(paths: readonly string[]): Line[] {
  const files = paths.map((path) => [basename(path, '.jsonl'), readRecords(path)] as const)
  const offset = storeClock(files.flatMap(([, records]) => records))
  const keys = new Map<string, string>()
  for (const [, records] of files)
    for (const record of records)
      if (record.kind === 'event' && 'key' in record.event && 'id' in record.event)
        keys.set(record.event.id, record.event.key)
  const lines = files.flatMap(([who, records]) => {
    const causes = causesIn(records)
    return records.flatMap((record): Line[] => {
      const told = tell(record)
      if (told === undefined) return []
      const at = timeOf(record, offset, causes.get(record))
      const id =
        record.kind === 'event' && 'id' in record.event ? record.event.id : 'id' in record ? record.id : ''
      return [{ at, who, what: told, key: keyOf(record) ?? keys.get(id) }]
    })
  })
  return lines.sort((a, b) => a.at - b.at)
}

function timeOf(record: HistoryRecord, offset: StoreClock, after: number | undefined): number {
  if (record.kind === 'event') {
    const { event, clock, seenAt } = record
    return clock === 'host' ? event.at : event.at + offset(event.at, { after, seenAt })
  }
  if (record.kind === 'lost') return record.to
  return 'until' in record ? record.until : record.at
}

function keyOf(record: HistoryRecord): string | undefined {
  if (record.kind === 'event' && 'key' in record.event) return record.event.key
  return record.kind === 'asked' ? record.asked[0]?.key : undefined
}

function tell(record: HistoryRecord): string | undefined {
  switch (record.kind) {
    case 'event':
      return tellEvent(record.event)
    case 'asked':
      return `call ${record.call}: ${record.asked.map(({ do: what, id }) => `${what} ${id}`).join(', ')}`
    case 'answered':
      return `call ${record.call} answered: ${record.answers === 'unknown' ? 'no answer' : record.answers.join(', ')}`
    case 'settled':
      return `handler of ${record.id} settles`
    case 'late':
      return `handler of ${record.id} finds its lease lost`
    case 'note':
      return `*** ${record.text}`
    case 'moved':
      return `*** the clock of Redis moves by ${record.by / 1_000} ms`
    case 'lost':
      return '*** until here, Redis may have lost what it decided'
    case 'unavailable':
      return `gets the error that Redis is unavailable, after ${record.tookMs.toFixed(0)} ms`
    case 'stood':
    case 'disturbed':
    case 'clock':
    case 'resumed':
      return undefined
  }
}

function tellEvent(event: HistoryEvent): string | undefined {
  switch (event.type) {
    case 'answer':
      return event.accepted ? `${event.id} accepted` : `${event.id} rejected: ${event.reason}`
    case 'start':
      return `handler of ${event.id} STARTS, attempt ${event.attempt}`
    case 'return':
      return `${event.id} returns to its line: ${event.reason}`
    case 'end':
      return `${event.id} ends: ${event.outcome}`
    case 'fault':
      return `*** the process of ${event.id} failed: it may start once more`
    case 'crash':
      return `*** a process failed: the first ${event.handed} of each line may lose their places`
    case 'audit':
      return `*** audit ${JSON.stringify(event)}`
    default:
      return event.type
  }
}
