import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../../support/turn-id.ts'
import type { Rest } from '../actors/direct.ts'
import { parsedLimitOf } from '../actors/limit-of.ts'
import type { Recorder, Seen } from '../actors/recorder.ts'
import type { Scene } from '../actors/scene.ts'
import type { Fault } from '../plan/fault.ts'
import { totalsAtFirst } from '../plan/total-plan.ts'
import { judgeBooks } from './books.ts'
import { judgeErrors } from './errors.ts'
import { type Closing, excuses, restsIn, travelOf } from './excuses.ts'
import { judgeFences } from './fences.ts'
import { isOfHiddenStep } from './hidden-steps.ts'
import { judgeLiveness } from './liveness.ts'
import { doubtfulFrom, judgeAroundLosses } from './losses.ts'
import { isOfLostLimit } from './lost-limits.ts'
import { lostReturns, withLost } from './lost-returns.ts'
import { isOfNewcomer } from './newcomers.ts'
import { afterOwnSteps } from './own-steps.ts'
import { judgeRefusals } from './refusals.ts'
import { judgeRefusalsOfTotals, withoutRefusalsOfTotals } from './refusals-of-totals.ts'
import { judgeSets } from './sets.ts'
import { judgeSlots } from './slots.ts'
import { isOfSmallStep } from './small-steps.ts'
import { judgeGivenUp, judgeStrayEnds } from './strays.ts'
import { countsForTotals, handedBelowTotals, judgeParts, partsOfTotals } from './totals.ts'
import type { Life } from './troubles.ts'

/** What went wrong, and when. */
export interface Failure {
  /** The law, or what else must hold: `errors`, `recount`, `rest`, `close`. */
  readonly law: string
  /** Microseconds of the world. */
  readonly at: number
  readonly message: string
}

/** From a decision in the store until the slowest process knows of it, when nothing is in its way; milliseconds. */
const NEWS = 300
/** Beside how long it lasts, how long a fault keeps news from processes; milliseconds. */
const AFTER_FAULT = 4_000

/** Holds the record of a run against the laws. */
export function judge(
  scene: Scene,
  rest: Rest | undefined,
): { failures: Failure[]; history: HistoryEvent[] } {
  const { plan, record, silences } = scene
  const limits = [...plan.keys, ...totalsAtFirst(plan)].map((key): HistoryEvent => {
    return { type: 'limit', at: 0, key: key.key, limit: parsedLimitOf(key) }
  })
  const own = afterOwnSteps(record.seen, record)
  const told = withoutRefusalsOfTotals(withoutRepetition(own), record.seen)
  const lost = lostReturns(told, record.settled)
  const events = [
    ...told,
    ...lost,
    ...excuses(plan, silences, withLost(record.seen, lost), closingsOf(scene), record.recovered),
  ]
  const history = [...limits, ...inOrder(events)]
  // A process may hear of an end just after the store was asked.
  const heardAt = history.at(-1)?.at ?? 0
  if (rest !== undefined) history.push({ type: 'audit', at: Math.max(rest.at, heardAt), ...rest.audit })
  const lagBefore = (at: number) => lagOf(scene, at)
  const known = { plan, silences, struck: scene.struck, lives: livesOf(scene), unsure: scene.unsure }
  const { lasting, parts } = partsOfTotals(history, plan, record.unset, scene.struck, lagBefore)
  const isUnfinished = rest === undefined
  const around = judgeAroundLosses(lasting, scene.struck, lagBefore, isUnfinished, handedBelowTotals(plan))
  // A handler may end its own process. The jobs of that process wait for the end of its leases, as after any fault.
  const struck = [...scene.struck, ...silences.filter(({ isDeath }) => isDeath)]
  const breaches = around.filter(
    (breach) =>
      breach.law !== 'L10' && breach.law !== 'L11' && countsForTotals(breach, plan, struck, lasting),
  )
  const sets = judgeSets(
    { plan, struck: scene.struck, asked: record.asked, left: record.left },
    lasting,
    lagBefore,
  )
  const ofParts = judgeParts(parts, scene.struck, lagBefore)
  const broken = [...breaches, ...sets, ...ofParts].filter(
    (breach) =>
      !isOfNewcomer(breach, known, record.seen) &&
      !isOfSmallStep(breach, known) &&
      !isOfHiddenStep(breach, known) &&
      !isOfLostLimit(breach, scene.struck, lasting),
  )
  const failures: Failure[] = [
    ...[...broken, ...judgeSlots(scene, lasting)].map(({ law, at, message }) => ({
      law,
      at,
      message,
    })),
    ...judgeLiveness(known, history, record.seen, doubtfulFrom(scene.struck), record),
    ...judgeBooks(rest?.books ?? [], known, history, record.seen, record),
    ...judgeRefusals(known, history, record.seen, doubtfulFrom(scene.struck)),
    ...judgeRefusalsOfTotals(known, history, record.seen, doubtfulFrom(scene.struck)),
    ...judgeStrayEnds(own),
    ...(struckClock(scene) ? [] : judgeGivenUp(record.givenUp, record.seen)),
    ...judgeFences(record.fences, scene.struck, known.lives),
    ...judgeData(record.strange),
    ...judgeErrors(scene),
  ]
  return { failures, history }
}

/** Whether the clock by which requests are refused was set. */
function struckClock({ struck }: Scene): boolean {
  return struck.some(({ fault }) => fault.kind === 'step')
}

/** The data of a job are byte for byte what was given. */
export function judgeData(strange: Recorder['strange']): Failure[] {
  return strange.map(({ at, id, got, expected }) => {
    return {
      law: 'data',
      at,
      message: `job ${id} has other data: ${got.slice(0, 200)}, expected ${expected.slice(0, 200)}`,
    }
  })
}

/** From when until when each process worked. */
function closingsOf({ leaving, struck }: Scene): Closing[] {
  return [...Array.from(leaving, ([process, at]) => ({ process, at })), ...restsIn(struck)]
}

function livesOf({ shapers, silences, leaving }: Scene): Life[] {
  const deaths = new Map(
    silences.flatMap(({ process, isDeath, from }) => (isDeath ? [[process, from] as const] : [])),
  )
  return [...shapers.keys()].map(({ name, bornAt }) => {
    const never = Number.POSITIVE_INFINITY
    return { name, from: bornAt, until: Math.min(deaths.get(name) ?? never, leaving.get(name) ?? never) }
  })
}

/**
 * What the store was asked for counts only where no process that knew of it wrote it down, however late. But where it had ended before,
 * as the turn of a caller that stood still, and was forgotten, the process was told of another admission.
 */
export function withoutRepetition(seen: readonly Seen[]): HistoryEvent[] {
  const nameOf = ({ event }: Seen) => {
    // A job that was refused may be accepted when its producer asks again.
    if (event.type === 'answer') return `answer ${event.accepted} ${event.id}`
    return 'id' in event ? `${event.type} ${event.id}` : event.type
  }
  const toldAt = new Map(seen.flatMap((one) => (one.by === 'fate' ? [] : [[nameOf(one), one.event.at]])))
  const isAdmittedAnew = (one: Seen) =>
    one.event.type === 'answer' &&
    one.event.accepted &&
    seen.some(({ event: end }) => {
      const isOwn = end.type === 'end' && 'id' in one.event && end.id === one.event.id
      return isOwn && end.at > one.event.at && end.at < toldAt.get(nameOf(one))!
    })
  const once = seen.filter((one) => one.by !== 'fate' || !toldAt.has(nameOf(one)) || isAdmittedAnew(one))
  const lost = neverStarted(once)
  const twice = endedTwice(once)
  return once
    .filter(({ event }) => !twice.has(event))
    .map(({ event }) => {
      return event.type === 'end' && lost.has(event) ? { ...event, outcome: 'cancelled' as const } : event
    })
}

/**
 * Ends of those that were granted a slot in a process that fell silent, and that had not used it: callers that were given up in the
 * line, and jobs that waited for a retry and count as crashed once too often.
 */
export function neverStarted(seen: readonly Seen[]): ReadonlySet<HistoryEvent> {
  const ran = new Set<string>()
  const lost = new Set<HistoryEvent>()
  for (const { event, isLost } of seen.toSorted((a, b) => a.event.at - b.event.at)) {
    if (event.type === 'start') ran.add(event.id)
    if (event.type === 'return') ran.delete(event.id)
    if (event.type === 'end' && isLost === true && !ran.has(event.id)) lost.add(event)
  }
  return lost
}

/**
 * A turn that holds a place ends, for its line, as it departs. Where its process dies before the store has heard of that, another one
 * finds the turn that was granted the place, and says that it has failed: it is over already.
 */
export function endedTwice(seen: readonly Seen[]): ReadonlySet<HistoryEvent> {
  const ended = new Set<string>()
  const twice = new Set<HistoryEvent>()
  for (const { event, isLost } of seen.toSorted((a, b) => a.event.at - b.event.at)) {
    if (event.type !== 'end' || !isTurnId(event.id)) continue
    if (isLost === true && ended.has(event.id)) twice.add(event)
    ended.add(event.id)
  }
  return twice
}

/** Causes come before effects: a replayed decision may have been made before anybody wrote it down. */
function inOrder(events: readonly HistoryEvent[]): HistoryEvent[] {
  const firstStart = new Map<string, number>()
  const answers = new Map<string, number>()
  for (const event of events) {
    if (event.type === 'answer') answers.set(event.id, (answers.get(event.id) ?? 0) + 1)
    if (event.type !== 'start') continue
    firstStart.set(event.id, Math.min(event.at, firstStart.get(event.id) ?? event.at))
  }
  const moved = events.map((event) => {
    if (event.type !== 'answer' || !event.accepted) return event
    // Of an id that is used again it is not known which start is meant.
    const start = answers.get(event.id) === 1 ? firstStart.get(event.id) : undefined
    return start === undefined || start > event.at ? event : { ...event, at: start - 1 }
  })
  return moved.sort((a, b) => a.at - b.at)
}

/** How long news may take in what happens before `until`; microseconds. */
function lagOf({ plan, struck, unsure }: Scene, until: number): number {
  const earlier = new Set(struck.filter(({ from }) => from < until).map(({ fault }) => fault))
  const trouble = [...earlier].reduce((sum, fault) => sum + troubleOf(fault), 0)
  const doubt = unsure.reduce((sum, doubt) => sum + (doubt.from < until ? doubt.until - doubt.from : 0), 0)
  const computing = Math.max(0, ...plan.jobs.map(({ handler }) => handler.computes))
  return (NEWS + trouble + 4 * computing + 6 * travelOf({ ...plan, faults: [] })) * 1_000 + doubt
}

function troubleOf(fault: Fault): number {
  if (fault.kind === 'step' || fault.kind === 'wall' || fault.kind === 'flush-scripts') return 0
  const lasts = 'for' in fault ? fault.for : fault.kind === 'restart' ? fault.down : 0
  return lasts + AFTER_FAULT
}
