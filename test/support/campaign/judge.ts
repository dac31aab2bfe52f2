import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Breach, type CheckOptions, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import { type Resumed, resumedIn } from './caller-moments.ts'
import { lagOf } from './held-up.ts'
import { readRecords } from './history-file.ts'
import { limitEvents } from './limits-of.ts'
import { type MergedHistory, mergeHistories } from './merge-histories.ts'
import { withoutMissedSlots } from './missed-slots.ts'
import type { ShaperPlan } from './plans.ts'
import { judgeSharesWithin, standstillWithin } from './shares.ts'

/** A campaign in which no law was broken. */
export interface Verdict extends MergedHistory {
  /** When handlers of a key started, in order; milliseconds. */
  startsOf(key: string): number[]
  /** How many starts were not given back, of a key or of all: a process that is held up gives back what it starts too late. */
  startsKept(key?: string): number
  /** How unfairly totals were shared between two times; microseconds. */
  unfairWithin(from: number, until: number): Breach[]
  /** For how long processes were held up then, all together; microseconds. */
  standstillWithin(from: number, until: number): number
  /** How the callers of turns went on in their own code, by the ids of their turns. */
  readonly resumed: ReadonlyMap<string, Resumed>
}

const MOST_TOLD = 20

/** Merges the records of a folder and holds them against the laws. @throws Error with the breaches, if there are any */
export function judge(
  folder: string,
  plan: Pick<ShaperPlan, 'keys' | 'limit' | 'limits'>,
  options: CheckOptions,
): Verdict {
  const paths = recordsIn(folder)
  const merged = mergeHistories(paths)
  const history = [...limitEvents(plan), ...merged.history]
  const { lag = 0 } = options
  const files = new Map(paths.map((path) => [path, readRecords(path)]))
  const checked = { ...options, lag: lag === 0 ? 0 : lagOf(files, lag) }
  // Shares are judged where a test says for which time.
  const found = checkHistory(history, checked).filter(({ law }) => law !== 'L12')
  const breaches = withoutMissedSlots(found, history, [...files.values()].flat())
  if (breaches.length > 0) throw new Error(report(breaches, save(folder, history)))
  const startsOf = (key: string) =>
    history.flatMap((event) => (event.type === 'start' && event.key === key ? [event.at / 1_000] : []))
  const startsKept = (key?: string) => countKept(history, key)
  const stoodFor = (from: number, until: number) => standstillWithin(files, from, until)
  const unfairWithin = (from: number, until: number) =>
    judgeSharesWithin(history, from, until, stoodFor(from, until))
  const asked = { startsOf, startsKept, unfairWithin, standstillWithin: stoodFor }
  return { ...merged, ...asked, history, resumed: resumedIn(paths) }
}

function countKept(history: readonly HistoryEvent[], key: string | undefined): number {
  const started = new Set<string>()
  let count = 0
  for (const event of history) {
    if (event.type === 'start' && (key === undefined || event.key === key)) {
      started.add(event.id)
      count += 1
    }
    if (event.type === 'return' && event.reason === 'freeze' && started.has(event.id)) count -= 1
  }
  return count
}

/** The paths of the records of all processes. */
export function recordsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .map((name) => join(folder, name))
}

function save(folder: string, history: readonly HistoryEvent[]): string {
  const path = join(folder, 'history.txt')
  writeFileSync(path, history.map((event) => `${JSON.stringify(event)}\n`).join(''))
  return path
}

function report(breaches: readonly Breach[], path: string): string {
  const laws = breaches.map(({ law }) => law)
  const counts = [...new Set(laws)].map((law) => `${law}: ${laws.filter((other) => other === law).length}`)
  const lines = breaches.slice(0, MOST_TOLD).map(({ law, message }) => `  ${law} ${message}`)
  if (breaches.length > MOST_TOLD) lines.push(`  and ${breaches.length - MOST_TOLD} more`)
  return `expected no breach, got ${breaches.length} (${counts.join(', ')}):\n${lines.join('\n')}\nthe history: ${path}`
}
