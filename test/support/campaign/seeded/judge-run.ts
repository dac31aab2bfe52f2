import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Breach, HistoryEvent } from '../../../../src/testing.ts'
import { lagOf } from '../held-up.ts'
import { type HistoryRecord, readRecords } from '../history-file.ts'
import { recordsIn } from '../judge.ts'
import { limitEvents } from '../limits-of.ts'
import { mergeHistories } from '../merge-histories.ts'
import { withoutMissedSlots } from '../missed-slots.ts'
import { collect } from '../second-judge/collect.ts'
import { judgeAgain } from '../second-judge/judge-again.ts'
import { unansweredFrom } from '../second-judge/losses.ts'
import type { Reading } from '../store-offset.ts'
import { isIdle } from './idle.ts'
import { judgeLosses } from './judge-losses.ts'
import { judgeShares } from './judge-shares.ts'
import type { Fault, SeededPlan } from './plan.ts'
import { timeline } from './timeline.ts'

export type RunCounts = Readonly<Record<string, number>>

/** Until the news of an event has reached every process of an undisturbed fleet, on a busy machine; microseconds. */
const NEWS = 3_000_000
/** An outage keeps news from its victims: the longest stop, and until all have found Redis again. */
const NEWS_OF_OUTAGE = 12_000_000
/** What keeps no news from a process that lives. */
const WITHOUT_OUTAGE: readonly Fault['do'][] = ['kill', 'crash', 'flush scripts', 'move clock']
const MOST_SHOWN = 10

export interface RunVerdict {
  readonly counts: RunCounts
  readonly breaches: string[]
  /** What was done met no job: the run shows nothing. */
  readonly isIdle: boolean
  /** The clock of Redis was set back, and whether a law was broken depends on times that fit two moments: it shows nothing. */
  readonly isUndecided: boolean
}

/**
 * Holds the records of a run against the laws. That the second judge gave up its search is as bad as a breach.
 *
 * @param mostStates states that the second judge looks at for each key, if not as many as it does by itself
 */
export function judgeRun(plan: SeededPlan, folder: string, mostStates?: number): RunVerdict {
  const paths = recordsIn(folder)
  const files = new Map(paths.map((path) => [path, readRecords(path)]))
  const records = [...files.values()].flat()
  const limits = limitEvents(plan)
  const moved = records.some((record) => record.kind === 'moved')
  const merge = (reading?: Reading) => {
    const { history } = mergeHistories(paths, reading)
    return moved ? history.map(withoutLease) : history
  }
  const history = merge()
  const whole = [...limits, ...history]
  writeFileSync(join(folder, 'history.txt'), whole.map((event) => `${JSON.stringify(event)}\n`).join(''))
  const losses = records.filter((record) => record.kind === 'lost')
  const moves = records.filter((record) => record.kind === 'moved')
  const isCalm = plan.armed.length === 0 && plan.faults.every((fault) => WITHOUT_OUTAGE.includes(fault.do))
  const lag = Math.max(lagOf(files, NEWS), isCalm ? NEWS : NEWS_OF_OUTAGE)
  const testimony = collect(paths, plan, NEWS)
  const breachesOf = (history: readonly HistoryEvent[]) => {
    const found = judgeLosses(history, losses, { lag, unansweredFrom: unansweredFrom(testimony) })
    return withoutMissedSlots(found, history, records).filter(
      (breach) => breach.law !== 'L12' && !isBeforeNewsOfStep(breach, history, moves),
    )
  }
  const found = breachesOf(whole)
  // With the other moments that fit as well, no law may be broken: then the times that are known show no breach.
  const isUndecided =
    found.length > 0 && moves.length > 0 && breachesOf([...limits, ...merge('earliest')]).length === 0
  const breaches = [...(isUndecided ? [] : found), ...judgeShares(plan, files, whole)]
  const lines = breaches.slice(0, MOST_SHOWN).map(({ law, message }) => `checker: ${law} ${message}`)
  if (breaches.length > MOST_SHOWN) lines.push(`checker: and ${breaches.length - MOST_SHOWN} more`)
  const { findings, undecided } = judgeAgain(testimony, mostStates)
  lines.push(...findings.slice(0, MOST_SHOWN).map(({ kind, message }) => `second judge: ${kind}: ${message}`))
  lines.push(...undecided.map((key) => `second judge: undecided: gave up its search for key "${key}"`))
  const first = breaches[0] ?? findings[0]
  if (first !== undefined) lines.push(`around the first of them:\n${timeline(paths, first)}`)
  return {
    counts: countsOf(history, records),
    breaches: lines,
    isIdle: isIdle(plan, paths, history),
    isUndecided,
  }
}

/** A clock that was moved may end a lease sooner. */
function withoutLease(event: HistoryEvent): HistoryEvent {
  if (event.type !== 'fault') return event
  const { leaseUntil: _, ...fault } = event
  return fault
}

/**
 * A line learns from the next admission or call of a scheduler that its clock was set back, and then brings its buckets back page
 * by page. Until then a rejection may ask to retry later than needed. Nothing else is excused.
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
    settled: count((event) => event.type === 'settle'),
    'refused by totals': records.filter((record) => record.kind === 'event' && record.total !== undefined)
      .length,
    'runs of slots': records.filter((record) => record.kind === 'run').length,
    'missed slots': records.filter((record) => record.kind === 'missed-slot').length,
    'late starts': records.filter((record) => record.kind === 'late').length,
    outages: records.filter((record) => record.kind === 'unavailable').length,
  }
}
