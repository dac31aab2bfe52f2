import { type HistoryRecord, readRecords } from './history-file.ts'

/**
 * The records of each process, by its path. A process may be stopped after a handler has read the clock, and before it has written
 * its start down. While the process stands still no file tells of that start, so its fault is added here.
 */
export function readFiles(paths: readonly string[]): Map<string, readonly HistoryRecord[]> {
  const files = new Map(paths.map((path) => [path, readRecords(path)]))
  const withFault = (record: HistoryRecord): HistoryRecord[] => {
    if (record.kind !== 'stood' || !record.losesLeases) return [record]
    const { path: of, from: at, records, leaseUntil } = record
    const next = files.get(of)?.slice(records).find(isStart)
    if (next === undefined || next.event.at > at) return [record]
    const event = { type: 'fault', at, id: next.event.id, leaseUntil } as const
    return [record, { kind: 'event', clock: 'host', event, of }]
  }
  return new Map([...files].map(([path, records]) => [path, records.flatMap(withFault)]))
}

type StartRecord = HistoryRecord & { kind: 'event'; event: { type: 'start' } }

function isStart(record: HistoryRecord): record is StartRecord {
  return record.kind === 'event' && record.event.type === 'start'
}
