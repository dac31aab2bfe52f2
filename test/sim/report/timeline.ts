import { formatLimit } from '../../../src/core/limit-format.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import { parsedLimitOf } from '../actors/limit-of.ts'
import type { Failure } from '../judge/judge.ts'
import type { Outcome } from '../run-plan.ts'

interface Line {
  readonly at: number
  readonly by: string
  readonly text: string
}

/** The history of a run as people read it: when, who, what, and which law was broken where. */
export function timeline({ scene, history, failures, plan }: Outcome): string {
  const lines: Line[] = [
    ...scene.record.seen.map(({ by, event }) => ({ at: event.at, by, text: textOf(event) })),
    ...history.filter(isExcuse).map((event) => ({ at: event.at, by: 'judge', text: textOf(event) })),
    ...scene.record.notes,
    ...scene.record.errors.map(({ at, process, error }) => ({
      at,
      by: process.name,
      text: `error ${error.message}`,
    })),
    ...scene.record.unavailable.map(({ at, process, took }) => {
      return { at: at + took, by: process.name, text: `gets the error that Redis is away, after ${ms(took)}` }
    }),
    ...failures.map(({ law, at, message }) => ({ at, by: '>>>', text: `${law}: ${message}` })),
  ]
  const sorted = lines.toSorted((a, b) => a.at - b.at)
  const width = Math.max(...sorted.map(({ by }) => by.length))
  const rows = sorted.map(({ at, by, text }) => `${seconds(at)}  ${by.padEnd(width)}  ${text}`)
  return [...keysOf(plan), '', ...rows].join('\n')
}

function costOf({ cost, costs = {} }: HistoryEvent & { type: 'answer' }): string {
  return [`cost ${cost}`, ...Object.entries(costs).map(([unit, units]) => `${units} ${unit}`)].join(', ')
}

/** The failures, the shortest way to say them. */
export function summary(failures: readonly Failure[]): string {
  const shown = failures.slice(0, 8).map(({ law, at, message }) => `  ${seconds(at)} ${law}: ${message}`)
  if (failures.length > shown.length) shown.push(`  and ${failures.length - shown.length} more`)
  return shown.join('\n')
}

function keysOf({ keys, totals = [], workers, isTogether }: Outcome['plan']): string[] {
  return [
    ...[...keys, ...totals].map(
      (key) => `key ${JSON.stringify(key.key)}: ${formatLimit(parsedLimitOf(key))}`,
    ),
    ...workers.map(({ concurrency, lease, scheduler }, index) => {
      return `worker-${index + 1}: concurrency ${concurrency}, lease ${lease} ms${scheduler ? '' : ', no scheduler'}${index === 0 && isTogether === true ? ', enqueues and takes turns' : ''}`
    }),
  ]
}

function isExcuse({ type }: HistoryEvent): boolean {
  return type === 'fault' || type === 'crash'
}

function textOf(event: HistoryEvent): string {
  switch (event.type) {
    case 'answer':
      return event.accepted
        ? `accepted ${event.id} of ${event.key}, ${costOf(event)}`
        : `refused ${event.id} of ${event.key}, ${costOf(event)}: ${event.reason}, again at ${seconds(event.retryAt)}`
    case 'promise':
      return `${event.id} of ${event.key} was promised to start by ${seconds(event.startsBy)}`
    case 'start':
      return `STARTS ${event.id} of ${event.key}, attempt ${event.attempt}, cost ${event.cost}`
    case 'settle':
      return `${event.id} settles ${JSON.stringify(event.amounts)}`
    case 'release':
      return `${event.id} gives its place back`
    case 'return':
      return `${event.id} goes back (${event.reason}), ready at ${seconds(event.readyAt)}`
    case 'end':
      return `${event.id} ${event.outcome}`
    case 'freeze':
      return `${event.key} is frozen until ${seconds(event.until)}`
    case 'unfreeze':
    case 'pause':
    case 'resume':
      return `${event.type} of ${event.key}`
    case 'limit':
      return `the limit of ${event.key} is ${formatLimit(event.limit)}`
    case 'unset':
      return `${event.key} has no limit any more`
    case 'fault':
      return `${event.id} may start once more`
    case 'crash':
      return `up to ${event.handed} jobs of each key may lose their places`
    case 'audit':
      return JSON.stringify(event)
  }
}

function seconds(at: number): string {
  return (at / 1e6).toFixed(6).padStart(11)
}

function ms(duration: number): string {
  return `${(duration / 1_000).toFixed(3)} ms`
}
