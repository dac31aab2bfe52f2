import type { HistoryRecord } from './history-file.ts'

/**
 * What came before each thing that the store decided, by the host's clock and the record of one process: the question that it
 * answered, or the start of the handler that it ended or settled.
 */
export function causesIn(file: readonly HistoryRecord[]): Map<HistoryRecord, number> {
  /** A question without an answer may have been carried out: the first that is open counts. */
  const open = new Map<string, number>()
  const causes = new Map<HistoryRecord, number>()
  const begin = (name: string, at: number) => void open.set(name, open.get(name) ?? at)
  for (const record of file) {
    if (record.kind === 'asked')
      for (const { do: what, id } of record.asked) begin(`${what} ${id}`, record.at)
    if (record.kind !== 'event') continue
    const { event } = record
    if (event.type === 'start') begin(`start ${event.id}`, event.at)
    const name = causeOf(record)
    const cause = name === undefined ? undefined : open.get(name)
    if (name === undefined || cause === undefined) continue
    causes.set(record, cause)
    // A start is settled before it ends.
    if (event.type !== 'settle') open.delete(name)
  }
  return causes
}

function causeOf({ event, found }: HistoryRecord & { kind: 'event' }): string | undefined {
  // One that asked later says nothing of what others did before.
  if (found === true) return undefined
  if (event.type === 'answer') return `admit ${event.id}`
  if (event.type === 'return' || event.type === 'settle') return `start ${event.id}`
  if (event.type !== 'end' || event.outcome === 'expired') return undefined
  return event.outcome === 'cancelled' ? `cancel ${event.id}` : `start ${event.id}`
}
