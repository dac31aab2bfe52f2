import type { HistoryEvent } from '../../../src/testing.ts'
import type { Scene } from '../actors/scene.ts'
import type { Fault } from '../plan/fault.ts'
import { type Plan, slowestOf } from '../plan/plan.ts'

/** How long it took until things went on after a fault; milliseconds. */
export type Recovery = readonly [kind: string, ms: number]

/** How long it took until starts went on, in runs with one fault alone, so that nothing else delays them. */
export function recoveries({ plan, silences, record }: Scene, history: readonly HistoryEvent[]): Recovery[] {
  const [fault, ...others] = plan.faults
  const [silence] = silences
  if (fault === undefined || others.length > 0 || silence === undefined || !isClear(plan)) return []
  const kind = kindOf(fault)
  if (kind === undefined) return []
  if (kind === 'worker killed') {
    const hit = new Set(history.flatMap((event) => (event.type === 'fault' ? [event.id] : [])))
    return [...hit].flatMap((id): Recovery[] => {
      const again = record.seen.find(
        ({ event }) => event.type === 'start' && event.id === id && event.at > silence.until,
      )
      return again === undefined ? [] : [[kind, (again.event.at - silence.until) / 1_000]]
    })
  }
  return plan.keys.flatMap((key): Recovery[] => {
    const late = lateness(history, key.key, slowestOf(key) * 1_000 * costliest(plan), silence.until)
    return late === undefined ? [] : [[kind, late / 1_000]]
  })
}

/** Nothing else than a fault holds jobs back: not the operator, not a handler that is missing. */
function isClear({ actions, jobs, workers }: Plan): boolean {
  return (
    actions.length === 0 &&
    workers.every(({ concurrency }) => concurrency === 100) &&
    jobs.every(({ handler, attempts }) => handler.freezes === undefined && attempts === 1)
  )
}

function kindOf(fault: Fault): string | undefined {
  if (fault.kind === 'kill' && fault.part.startsWith('worker')) return 'worker killed'
  if (fault.kind === 'kill' && fault.part.startsWith('scheduler')) return 'scheduler killed'
  if (fault.kind === 'kill' && fault.part.startsWith('caller')) return 'caller of turns killed'
  if (fault.kind === 'restart' || fault.kind === 'stall') return 'Redis back'
  const isForAll = (fault.kind === 'hold' || fault.kind === 'refuse') && fault.part === 'all'
  return isForAll ? 'network back' : undefined
}

function costliest({ jobs, turns }: Plan): number {
  return Math.max(1, ...[...jobs, ...turns].map(({ cost }) => cost))
}

/** From when the key could have gone on, until it did; undefined where nothing waited. */
function lateness(
  history: readonly HistoryEvent[],
  key: string,
  interval: number,
  from: number,
): number | undefined {
  const waiting = new Set<string>()
  for (const event of history) {
    if (event.at > from) {
      if (event.type === 'start' && waiting.has(event.id)) return Math.max(0, event.at - from - interval)
      if (event.type === 'end' && waiting.has(event.id)) return undefined
      continue
    }
    if (event.type === 'answer' && event.accepted && event.key === key) waiting.add(event.id)
    if (event.type === 'start' || event.type === 'end') waiting.delete('id' in event ? event.id : '')
  }
  return undefined
}
