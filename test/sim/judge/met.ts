import type { HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import type { Fault } from '../plan/fault.ts'
import type { Plan } from '../plan/plan.ts'

/**
 * The faults of a run that met a job or a turn: it had been asked for, and had not ended, while the fault lasted. A run none of
 * whose faults did is idle: it shows nothing about them.
 */
export function metFaults(
  { jobs }: Plan,
  struck: readonly Struck[],
  history: readonly HistoryEvent[],
): Fault[] {
  const spans = new Map(jobs.map(({ id, at }) => [id, { from: at * 1_000, until: at * 1_000 }]))
  for (const event of history) {
    if (!('id' in event) || event.type === 'fault' || event.type === 'settle') continue
    const span = spans.get(event.id) ?? { from: event.at, until: event.at }
    spans.set(event.id, span)
    // A job that was accepted lasts until its end: the store may lose it. A turn lasts until it is released.
    const isOver =
      event.type === 'end' || event.type === 'release' || (event.type === 'answer' && !event.accepted)
    span.until = isOver ? event.at : Number.POSITIVE_INFINITY
  }
  const met = struck.filter(({ from, until }) => {
    return [...spans.values()].some((span) => span.from <= until && from <= span.until)
  })
  return [...new Set(met.map(({ fault }) => fault))]
}
