import { type HistoryRecord, isOver } from '../history-file.ts'
import type { SettleSeen } from './testimony.ts'

interface Begun {
  readonly id: string
  readonly at: number
}

/** When a start may have lost its place, at the earliest: by its end, by a lost lease, or by what was done to its process. */
export function leasesIn(
  files: ReadonlyMap<string, readonly HistoryRecord[]>,
): (path: string, start: Begun) => number | undefined {
  const all = [...files.values()].flat()
  // A clock that was moved may end a lease sooner.
  const isMoved = all.some(({ kind }) => kind === 'moved')
  const faults = all.flatMap((record) => {
    if (record.kind !== 'event' || record.event.type !== 'fault') return []
    const { at, id, leaseUntil = at } = record.event
    return [{ path: record.of, id, at, until: isMoved ? at : leaseUntil }]
  })
  return (path, { id, at }) => {
    const own = (files.get(path) ?? []).flatMap((record) => {
      return isOver(record) && record.id === id && record.at >= at ? [record.at] : []
    })
    const failed = faults.filter((fault) => fault.path === path && fault.id === id && fault.at >= at)
    const first = Math.min(...own, ...failed.map(({ until }) => until))
    return first === Number.POSITIVE_INFINITY ? undefined : first
  }
}

/** The questions of handlers with their answers. */
export function settlesIn(records: readonly HistoryRecord[]): SettleSeen[] {
  const answers = new Map(
    records.flatMap((record) => (record.kind === 'settle-answered' ? [[record.call, record] as const] : [])),
  )
  return records.flatMap((record): SettleSeen[] => {
    if (record.kind !== 'settle-asked') return []
    const { id, fence, at: from, amounts, call } = record
    const { at: to = Number.POSITIVE_INFINITY, answer = 'unknown' } = answers.get(call) ?? {}
    return [{ id, fence, from, to, amounts, answer }]
  })
}
