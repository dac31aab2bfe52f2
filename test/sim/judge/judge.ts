import { parseLimit } from '../../../src/core/limit.ts'
import { isVelvetRopeError } from '../../../src/index.ts'
import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import type { Rest } from '../actors/direct.ts'
import type { Seen } from '../actors/recorder.ts'
import { limitOf, type Scene } from '../actors/scene.ts'
import { type Fault, isLossy } from '../plan/fault.ts'
import type { Plan } from '../plan/plan.ts'
import { excuses } from './excuses.ts'
import { lostReturns } from './lost-returns.ts'

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
/** A producer hears within two seconds that the store is away; timers are a little late. */
const UNAVAILABLE_WITHIN = 2_300_000
/** Errors that a shaper may report while something is wrong. */
/** An end was reported to BullMQ twice: the first report was carried out, and its answer lost. */
const TWICE = /^Missing (?:key|lock) for job /
const EXPECTED = ['backend-unavailable', 'lease-lost', 'started-late', 'old-rule-book', 'worker-lost']

/** Holds the record of a run against the laws. */
export function judge(
  scene: Scene,
  rest: Rest | undefined,
): { failures: Failure[]; history: HistoryEvent[] } {
  const { plan, record, silences, leaving } = scene
  const limits = plan.keys.map((key): HistoryEvent => {
    return { type: 'limit', at: 0, key: key.key, limit: parseLimit(limitOf(key)) }
  })
  const told = withoutRepetition(afterOwnStarts(record.seen))
  const events = [
    ...told,
    ...lostReturns(told, record.settled),
    ...excuses(plan, silences, record.seen, leaving),
  ]
  const audit = rest === undefined ? [] : [{ type: 'audit', at: rest.at, ...rest.audit } as const]
  const history = [...limits, ...inOrder(events), ...audit]
  const lag = lagOf(scene)
  const breaches = checkHistory(history, { lag, settle: lag, unfinished: rest === undefined }).filter(
    (breach) => counts(breach, plan),
  )
  const failures = breaches.map(({ law, at, message }) => ({ law, at, message }))
  return { failures: [...failures, ...judgeFences(scene), ...judgeErrors(scene)], history }
}

/** A process estimates when a handler started and ended, by a clock that may have been set: no end is before its start. */
function afterOwnStarts(seen: readonly Seen[]): Seen[] {
  const starts = new Map<string, number>()
  return seen.map((one) => {
    const { by, event } = one
    if (event.type === 'start') starts.set(`${by} ${event.id}`, event.at)
    if (event.type !== 'end' && event.type !== 'return') return one
    const start = starts.get(`${by} ${event.id}`) ?? event.at
    return start <= event.at ? one : { ...one, event: { ...event, at: start } }
  })
}

/** What the store was asked for counts only where no process that knew of it wrote it down, however late. */
function withoutRepetition(seen: readonly Seen[]): HistoryEvent[] {
  const nameOf = ({ event }: Seen) => ('id' in event ? `${event.type} ${event.id}` : event.type)
  const written = new Set(seen.filter(({ by }) => by !== 'fate').map(nameOf))
  const started = new Set(seen.flatMap(({ event }) => (event.type === 'start' ? [event.id] : [])))
  return seen
    .filter((one) => one.by !== 'fate' || !written.has(nameOf(one)))
    .map(({ event, isLost }) => {
      // A caller that was granted a slot in a process that fell silent, and had not used it, was given up in the line.
      const isGivenUp = event.type === 'end' && isLost === true && !started.has(event.id)
      return isGivenUp ? { ...event, outcome: 'cancelled' as const } : event
    })
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

/** What cannot be said of a run whose store forgot, or whose clock was set. */
function counts({ law, message }: Breach, { faults }: Plan): boolean {
  if (faults.some(isLossy)) return law === 'L2' && !/frozen|paused/.test(message)
  if (!faults.some(({ kind }) => kind === 'step')) return true
  return !/while the key was frozen|was asked to retry/.test(message)
}

/** How long news may take in this run; microseconds. */
function lagOf({ plan, unsure }: Scene): number {
  const ways = [plan.network.there, plan.network.back]
  const travel = ways.reduce((sum, { least, jitter, spikes, spike }) => {
    return sum + least + 8 * jitter + (spikes > 0 ? spike : 0)
  }, 0)
  const trouble = plan.faults.reduce((sum, fault) => sum + troubleOf(fault), 0)
  const doubt = unsure.reduce((sum, { from, until }) => sum + until - from, 0)
  const computing = Math.max(0, ...plan.jobs.map(({ handler }) => handler.computes))
  return (NEWS + trouble + 4 * computing) * 1_000 + 6 * travel + doubt
}

function troubleOf(fault: Fault): number {
  if (fault.kind === 'step' || fault.kind === 'wall' || fault.kind === 'flush-scripts') return 0
  const lasts = 'for' in fault ? fault.for : fault.kind === 'restart' ? fault.down : 0
  return lasts + AFTER_FAULT
}

/** The fence of a key grows with every start, whatever the store has forgotten. */
function judgeFences({ record }: Scene): Failure[] {
  const last = new Map<string, { readonly fence: number; readonly id: string }>()
  const failures: Failure[] = []
  for (const { at, key, id, fence } of record.fences.toSorted((a, b) => a.at - b.at)) {
    const before = last.get(key)
    if (before !== undefined && fence <= before.fence) {
      const message = `key ${key}: the fence of ${id} is ${fence}, after ${before.fence} of ${before.id}`
      failures.push({ law: 'fence', at, message })
    }
    last.set(key, { fence, id })
  }
  return failures
}

function judgeErrors({ plan, world, record, silences }: Scene): Failure[] {
  const failures: Failure[] = []
  for (const process of world.processes) {
    for (const error of process.uncaught) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      failures.push({ law: 'errors', at: world.now, message: `${process.name}: nothing caught ${text}` })
    }
  }
  const isCalm = plan.faults.length === 0
  for (const { process, at, error } of record.errors) {
    const isExpected =
      !isCalm && (EXPECTED.some((code) => isVelvetRopeError(error, code)) || TWICE.test(error.message))
    if (!isExpected) failures.push({ law: 'errors', at, message: `${process.name}: ${error.stack}` })
  }
  for (const { process, at, took } of record.unavailable) {
    const isSilent = silences.some(
      ({ process: name, cause, from, until }) =>
        name === process.name && cause === 'itself' && from <= at + took && until >= at,
    )
    if (isSilent || (took <= UNAVAILABLE_WITHIN && !isCalm)) continue
    const message = `${process.name}: a call failed after ${took / 1_000} ms because Redis was away`
    failures.push({ law: 'L8', at, message })
  }
  return failures
}
