import type { HistoryEvent } from '../../../src/testing.ts'
import { type HistoryRecord, isStart } from './history-file.ts'

/**
 * The store may have counted what a process settled though no answer came: such a start counts the least that it may. A start that
 * was settled by another question, or of which nothing else is known, counts as the store said.
 */
export function unansweredSettles(file: readonly HistoryRecord[]): HistoryEvent[] {
  const answers = new Map(
    file.flatMap((record) => (record.kind === 'settle-answered' ? [[record.call, record.answer]] : [])),
  )
  const settled = new Set(
    file.flatMap((record) =>
      record.kind === 'event' && record.event.type === 'settle'
        ? [`${record.event.id} ${record.event.fence}`]
        : [],
    ),
  )
  const least = new Map<string, HistoryEvent & { type: 'settle' }>()
  for (const record of file) {
    if (record.kind !== 'settle-asked' || answers.get(record.call) === false) continue
    const { at, id, fence, amounts } = record
    const name = `${id} ${fence}`
    const start = file.filter(isStart).find(({ event }) => event.id === id)?.event
    if (settled.has(name) || start === undefined) continue
    const { key, costs: named = {} } = start
    const before = least.get(name)
    const counted = Object.entries(amounts).map(([unit, units]) => {
      // What the limit says that a job counts is not written down: then it may be nothing.
      return [unit, Math.min(units, named[unit] ?? 0, before?.amounts[unit] ?? units)] as const
    })
    least.set(name, {
      type: 'settle',
      at: before?.at ?? at,
      id,
      key,
      fence,
      amounts: Object.fromEntries(counted),
    })
  }
  return [...least.values()]
}
