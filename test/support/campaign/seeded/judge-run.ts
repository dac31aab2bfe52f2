import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseLimit } from '../../../../src/core/limit.ts'
import { type Breach, checkHistory, type HistoryEvent } from '../../../../src/testing.ts'
import { type HistoryRecord, readRecords } from '../history-file.ts'
import { recordsIn } from '../judge.ts'
import { mergeHistories } from '../merge-histories.ts'
import { collect } from '../second-judge/collect.ts'
import { judgeAgain } from '../second-judge/judge-again.ts'
import type { Fault, SeededPlan } from './plan.ts'
import { timeline } from './timeline.ts'

export type RunCounts = Readonly<Record<string, number>>

/** Until the news of an event has reached every process of an undisturbed fleet, on a busy machine; microseconds. */
const NEWS = 3_000_000
/** An outage keeps news from its victims: the longest stop, and until all have found Redis again. */
const NEWS_OF_OUTAGE = 12_000_000
/** What keeps no news from a process that lives. */
const WITHOUT_OUTAGE: readonly Fault['do'][] = ['kill', 'flush scripts', 'move clock']
const MOST_TOLD = 10

/** Holds the records of a run against the laws. */
export function judgeRun(plan: SeededPlan, folder: string): { counts: RunCounts; breaches: string[] } {
  const paths = recordsIn(folder)
  const records = paths.flatMap(readRecords)
  const limits = plan.keys.map((key): HistoryEvent => {
    return { type: 'limit', at: 0, key, limit: parseLimit(plan.limits[key] ?? plan.limit) }
  })
  const { history } = mergeHistories(paths)
  const whole = [...limits, ...history]
  writeFileSync(join(folder, 'history.txt'), whole.map((event) => `${JSON.stringify(event)}\n`).join(''))
  const losses = records.filter((record) => record.kind === 'lost')
  const moves = records.filter((record) => record.kind === 'moved')
  const isCalm = plan.armed.length === 0 && plan.faults.every((fault) => WITHOUT_OUTAGE.includes(fault.do))
  const lag = isCalm ? NEWS : NEWS_OF_OUTAGE
  const breaches = checkHistory(whole, { lag }).filter(
    (breach) => !isExcused(breach, whole, losses) && !isBeforeNewsOfStep(breach, whole, moves),
  )
  const told = breaches.slice(0, MOST_TOLD).map(({ law, message }) => `checker: ${law} ${message}`)
  if (breaches.length > MOST_TOLD) told.push(`checker: and ${breaches.length - MOST_TOLD} more`)
  const { findings, undecided } = judgeAgain(collect(paths, plan, lag))
  told.push(...findings.slice(0, MOST_TOLD).map(({ kind, message }) => `second judge: ${kind}: ${message}`))
  const first = breaches[0] ?? findings[0]
  if (first !== undefined) told.push(`around the first of them:\n${timeline(paths, first)}`)
  return { counts: { ...countsOf(history, records), undecided: undecided.length }, breaches: told }
}

/**
 * Where Redis may have forgotten what it decided, as its settings say, it may have forgotten admissions, starts and ends: those
 * jobs may be gone or start again, and their places in the line are free. What no loss excuses is a start too early.
 */
function isExcused(
  { law, id, at }: Breach,
  history: readonly HistoryEvent[],
  losses: readonly (HistoryRecord & { kind: 'lost' })[],
): boolean {
  if (law === 'L2') return false
  return losses.some(({ from, to }) => {
    if (id === undefined || law !== 'L5') return at >= from
    return history.some((event) => 'id' in event && event.id === id && event.at >= from && event.at <= to)
  })
}

/**
 * A line learns from the next call of a scheduler that its clock was set back, and then brings its buckets back page by page.
 * Until then a rejection may ask to retry later than needed. Nothing else is excused.
 */
function isBeforeNewsOfStep(
  { law, id, at, message }: Breach,
  history: readonly HistoryEvent[],
  moves: readonly (HistoryRecord & { kind: 'moved' })[],
): boolean {
  if (law !== 'L1' || !message.includes('later than needed')) return false
  const isRejection = history.some((event) => event.type === 'answer' && event.id === id && !event.accepted)
  return isRejection && moves.some((move) => move.by < 0 && at >= move.at && at <= move.at + NEWS)
}

function countsOf(history: readonly HistoryEvent[], records: readonly HistoryRecord[]): RunCounts {
  const count = (test: (event: HistoryEvent) => boolean) => history.filter(test).length
  return {
    accepted: count((event) => event.type === 'answer' && event.accepted),
    rejected: count((event) => event.type === 'answer' && !event.accepted),
    started: count((event) => event.type === 'start'),
    ended: count((event) => event.type === 'end'),
    cancelled: count((event) => event.type === 'end' && event.outcome === 'cancelled'),
    crashes: count((event) => event.type === 'crash'),
    'late starts': records.filter((record) => record.kind === 'late').length,
    outages: records.filter((record) => record.kind === 'unavailable').length,
  }
}
