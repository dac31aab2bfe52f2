import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../../support/turn-id.ts'
import type { Silence, Struck } from '../actors/faults.ts'
import type { Recovered, Seen } from '../actors/recorder.ts'
import { firstAlone, type Plan } from '../plan/plan.ts'

/** For so long a silent process keeps its turns; milliseconds. */
export const TURN_LEASE = 3_900
/** Leases from here on survive an outage that is shorter than the one that lifts them; milliseconds. */
const SAFE_LEASE = 5_000
/** A command that has no answer by then fails, and its connection counts as broken; a little less. Milliseconds. */
const BREAKS_AFTER = 1_300
/** The longest pause between two attempts to connect; milliseconds. */
const LONGEST_PAUSE = 1_000
/** Beside that pause: a lost packet is sent again after a second, and a connection is made in a few steps; milliseconds. */
const CONNECTS = 1_500
/** After a restart of Redis leases last so much longer; milliseconds. */
export const RESTART_GRACE = 5_000
/** In an outage for all that is shorter, time passes for leases; of a longer one half a second does. Milliseconds. */
const SILENCE = 2_000
const LEAST_PASSING = 500
/** A slot is granted so long before its job starts, at most; milliseconds. */
const GRANTED_BEFORE = 400
/** From the end of a lease until its job has come back, at the latest; beside outages. Milliseconds. */
const RECOVERED = 10_000
/** The start of a turn is reported by then, where nothing is in the way; milliseconds. */
const REPORTED = 1_000
/** Timers are late, and processes compute; milliseconds. */
const IMPRECISE = 100
/** A clock of Redis that is set forward ends no lease within so long; milliseconds. */
const DOUBTED = 1_200

/** A time in which a process could not renew its leases, whatever it did. Microseconds. */
interface Blindness {
  readonly from: number
  /** From then on it can have renewed them. */
  readonly until: number
  readonly isDeath: boolean
  /** Nothing but outages that all processes share. */
  readonly isForAll: boolean
  readonly hasBroken: boolean
  /** Meanwhile Redis was away for all, so that leases were extended that had not ended by then. */
  readonly outages: readonly Outage[]
  /** The process renewed its leases just before, but not before this time. Absent: nothing is known of that. */
  readonly renewedFrom?: number
  /** Its last part, if the process can have renewed its leases before that. */
  readonly last?: Blindness | undefined
}

/** A process began to close, or its worker did. */
export interface Closing {
  readonly process: string
  readonly at: number
}

/** The workers that closed in processes that lived on. */
export function restsIn(struck: readonly Struck[]): Closing[] {
  return struck.flatMap(({ fault, process, from }) =>
    fault.kind === 'rest' ? [{ process: process!, at: from }] : [],
  )
}

type Outage = Pick<Silence, 'from' | 'until' | 'isRestart'>

/**
 * What the promises except: a process died, or could not be heard for so long that its leases can have ended. Only what it
 * ran when they can have ended may start once more; a cut that is over before the next renewal is due excuses nothing.
 */
export function excuses(
  plan: Plan,
  silences: readonly Silence[],
  seen: readonly Seen[],
  closings: readonly Closing[],
  recovered: readonly Recovered[] = [],
): HistoryEvent[] {
  const names = new Set(silences.map(({ process }) => process))
  const away = new Map(
    silences.flatMap((silence) => (silence.cause === 'everything' ? [[silence.from, silence]] : [])),
  )
  const outages = [...away.values()].sort((a, b) => a.from - b.from)
  const held = [...names].flatMap((name) => leasesOf(plan, name).map((own) => ({ name, ...own })))
  return held.flatMap(({ name, lease, isOfTurns }) => {
    const own = blindness(
      plan,
      silences.filter(({ process }) => process === name),
      lease,
    )
    const runs = runsOf(seen.filter(({ by }) => by === name)).filter(({ id }) => isTurnId(id) === isOfTurns)
    const closedAt = closings.flatMap((closing) => (closing.process === name ? [closing.at] : []))
    return own.flatMap((blind, index) => {
      const leftAt = Math.min(...closedAt.filter((at) => at <= blind.until))
      const mayStartAgain = isExcused(plan, blind, lease, leftAt)
      // A slot that a process had as it closed unheard, or of which it never heard, is kept until its lease ends.
      const keepsSlots = mayStartAgain || leftAt <= blind.until || blind.hasBroken
      // What it was silent for before its death may have kept it from renewing its leases.
      const wasHeard = index === 0 || own[index - 1]!.until <= blind.from - lease * 1_000
      return [
        ...(mayStartAgain ? faultsOf(plan, blind, runs, lease, wasHeard) : []),
        ...(keepsSlots ? crashesOf(blind, recovered, seen, backBy(blind, lease, outages)) : []),
      ]
    })
  })
}

/** For how long the process may be silent before others may have all that it holds; undefined: it holds nothing. */
export function leaseOf(plan: Plan, name: string): number | undefined {
  const leases = leasesOf(plan, name).map(({ lease }) => lease)
  return leases.length === 0 ? undefined : Math.max(...leases)
}

/** The same of the jobs that it runs, and of its turns. */
function leasesOf(plan: Plan, name: string): { readonly lease: number; readonly isOfTurns: boolean }[] {
  const { workers, callers } = plan
  const [, role, number] = /^(\w+)-(\d+)/.exec(name) ?? []
  const n = Number(number)
  const isCaller = role === 'caller' || (role === 'worker' && n < firstAlone(plan))
  return [
    ...(role === 'worker' ? [{ lease: workers[n - 1]!.lease, isOfTurns: false }] : []),
    ...(isCaller && callers > 0 ? [{ lease: TURN_LEASE, isOfTurns: true }] : []),
  ]
}

/** How long the slowest way there and back takes in the run; milliseconds. */
export function travelOf({ network, faults }: Plan): number {
  const slow = faults.flatMap((fault) => (fault.kind === 'slow' ? [fault.there, fault.back] : []))
  const ways = [network.there, network.back, ...slow]
  return (
    ways.reduce((sum, { least, jitter, spikes, spike }) => {
      return sum + least + 8 * jitter + (spikes > 0 ? spike : 0)
    }, 0) / 1_000
  )
}

/**
 * Silences between which the process may have renewed no lease count as one. Where it may have renewed some, the last of them also
 * counts alone.
 */
function blindness(plan: Plan, silences: readonly Silence[], lease: number): Blindness[] {
  const result: Blindness[] = []
  let silentUntil = 0
  for (const silence of silences.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    const isApart = last === undefined || last.isDeath || silence.from > last.until + (lease / 3) * 1_000
    if (isApart || silence.isDeath) {
      result.push(blindOf(plan, silence, lease, false))
    } else {
      const next = blindOf(plan, silence, lease, last.hasBroken)
      const since =
        silence.from > silentUntil
          ? { ...blindOf(plan, silence, lease, false), renewedFrom: silentUntil }
          : last.last && { ...last.last, ...joinedBlindness(last.last, next) }
      result[result.length - 1] = { ...joinedBlindness(last, next), last: since }
    }
    silentUntil = Math.max(silentUntil, silence.until)
  }
  return result
}

function joinedBlindness(one: Blindness, other: Blindness): Blindness {
  return {
    from: one.from,
    until: Math.max(one.until, other.until),
    isDeath: false,
    isForAll: one.isForAll && other.isForAll,
    hasBroken: one.hasBroken || other.hasBroken,
    outages: [...one.outages, ...other.outages],
  }
}

function blindOf(plan: Plan, silence: Silence, lease: number, wasBroken: boolean): Blindness {
  const { from, until, isDeath, cause, breaks } = silence
  const length = (until - from) / 1_000
  const isBroken = breaks || wasBroken || length >= BREAKS_AFTER
  // A connection that is still whole brings what was held back at once. Over a new one a renewal goes after a tenth of the lease.
  const heard = (isBroken ? reconnects(length) + lease / 10 : 0) + travelOf(plan)
  return {
    from,
    until: isDeath ? until : until + heard * 1_000,
    isDeath,
    isForAll: cause === 'everything',
    hasBroken: isBroken,
    outages: cause === 'everything' ? [silence] : [],
  }
}

/** After a silence of this length a client is connected again by then; milliseconds. */
function reconnects(length: number): number {
  return Math.min(LONGEST_PAUSE, length + 100) + (length > 0 ? CONNECTS : 100)
}

/** Outages with no call between them count once for the store: it was away once, and restarted once. */
function joined(outages: readonly Outage[]): Outage[] {
  const result: Outage[] = []
  for (const { from, until, isRestart = false } of outages.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    const length = last === undefined ? 0 : (last.until - last.from) / 1_000
    if (last === undefined || from > last.until + reconnects(length) * 1_000)
      result.push({ from, until, isRestart })
    else
      result[result.length - 1] = {
        from: last.from,
        until: Math.max(last.until, until),
        isRestart: last.isRestart === true || isRestart,
      }
  }
  return result
}

/** By how much the store extends all leases after an outage; milliseconds. */
function liftOf({ from, until, isRestart = false }: Outage): number {
  const length = (until - from) / 1_000
  if (isRestart) return length + RESTART_GRACE
  return length > SILENCE ? length - LEAST_PASSING : 0
}

/**
 * When a lease that would end at `end` has ended, at the earliest: where the clock of Redis was set forward since it was last renewed,
 * it ends earlier by as much, or by half a second after a silence.
 */
function earliestEnd(end: number, { faults }: Plan, { from, until }: Blindness, lease: number): number {
  const steps = faults.flatMap((fault) => (fault.kind === 'step' && fault.by > 0 ? [fault] : []))
  let earliest = end
  for (const { at, by } of steps.toSorted((one, other) => one.at - other.at)) {
    if (at * 1_000 < from - lease * 1_000 || at * 1_000 > Math.min(until, earliest)) continue
    const aged = by > SILENCE ? LEAST_PASSING : by
    earliest = Math.min(earliest, Math.max(earliest - aged * 1_000, (at + DOUBTED) * 1_000))
  }
  return earliest
}

/** From the begin of a silence until the first lease can have ended; milliseconds. Each is renewed after a third of its length. */
function leastLeft(plan: Plan, lease: number): number {
  const computing = Math.max(0, ...plan.jobs.map(({ handler }) => handler.computes))
  return (lease * 2) / 3 - IMPRECISE - travelOf(plan) - 4 * computing
}

function isExcused(plan: Plan, blind: Blindness, lease: number, leftAt: number): boolean {
  const { from, until, isDeath, isForAll, outages, renewedFrom = Number.NEGATIVE_INFINITY, last } = blind
  if (isDeath) return true
  if (last !== undefined && isExcused(plan, last, lease, leftAt)) return true
  // A process that closes while the store is away does not wait for it beyond its leases.
  const isLeaving = leftAt <= until
  const whole = (lease - IMPRECISE - travelOf(plan)) * 1_000
  let end = Math.max(from + leastLeft(plan, lease) * 1_000, renewedFrom + whole)
  for (const outage of isLeaving ? [] : joined(outages)) if (outage.from <= end) end += liftOf(outage) * 1_000
  const earliest = earliestEnd(end, plan, blind, lease)
  if (isForAll && lease >= SAFE_LEASE && !isLeaving && earliest === end) return false
  return until >= earliest
}

interface Run {
  readonly id: string
  readonly from: number
  readonly isHeld: boolean
  until: number
}

/** What the process ran, as far as it knew. */
function runsOf(seen: readonly Seen[]): Run[] {
  const runs: Run[] = []
  const open = new Map<string, Run>()
  for (const { event } of seen) {
    if (event.type === 'start') {
      const { isHeld = false } = event
      const run = { id: event.id, from: event.at, isHeld, until: Number.POSITIVE_INFINITY }
      open.set(event.id, run)
      runs.push(run)
    }
    if (event.type !== 'end' && event.type !== 'return' && event.type !== 'release') continue
    const run = open.get(event.id)
    // A turn that holds a place has ended as soon as it has started.
    if (run?.isHeld === true && event.type !== 'release') continue
    if (run !== undefined) run.until = event.at
    open.delete(event.id)
  }
  return runs
}

/** One more start for each job that ran there when its lease can have ended; until then it holds its place. */
function faultsOf(
  plan: Plan,
  blind: Blindness,
  runs: readonly Run[],
  lease: number,
  wasHeard: boolean,
): HistoryEvent[] {
  const held = Math.max(0, leastLeft(plan, lease)) * 1_000
  const placeOf = (run: Run) => {
    // The lease of a turn is shorter until its start is reported.
    const isKnown = !isTurnId(run.id) || run.from <= blind.from - REPORTED * 1_000
    const leaseUntil = earliestEnd(endOf(run) + held, plan, blind, lease)
    return blind.isDeath && wasHeard && isKnown ? { leaseUntil } : {}
  }
  const endOf = (run: Run) => {
    if (blind.isDeath) return Math.max(blind.from, run.from)
    const granted = run.from - GRANTED_BEFORE * 1_000
    const end = Math.max(
      blind.from + leastLeft(plan, lease) * 1_000,
      granted + (lease - travelOf(plan)) * 1_000,
    )
    return Math.max(run.from, earliestEnd(end, plan, blind, lease))
  }
  return runs
    .filter((run) => endOf(run) <= Math.min(blind.until, run.until))
    .map((run) => ({ type: 'fault', at: endOf(run) + 0.001, id: run.id, ...placeOf(run) }))
}

/**
 * When what the process held has come back, at the latest: while Redis is away no lease ends, and each restart extends them. What comes
 * when it has come back changes nothing.
 */
function backBy({ from, until }: Blindness, lease: number, outages: readonly Outage[]): number {
  let latest = until + (lease + RECOVERED) * 1_000
  for (const outage of outages) {
    if (outage.until < from || outage.from > latest) continue
    latest += outage.until - outage.from + (outage.isRestart === true ? RESTART_GRACE * 1_000 : 0)
  }
  return latest
}

/**
 * A job that had its slot, and came back when its lease had ended, may have started. Those that were handed over behind it may go
 * first: it loses its place, as the first of its line that has not started. All that was promised may change.
 */
function crashesOf(
  { from }: Blindness,
  recovered: readonly Recovered[],
  seen: readonly Seen[],
  latest: number,
): HistoryEvent[] {
  const came = recovered.filter(({ at }) => at >= from && at <= latest)
  return [
    { type: 'crash', at: from, handed: 0 },
    ...came.map((job) => {
      const others = job.mayHaveStarted ? lostBefore(job, recovered, came) : NONE
      return { type: 'crash', at: job.at - 1, handed: 1 + countedBefore(job, seen, others) } as const
    }),
  ]
}

const NONE: ReadonlySet<string> = new Set()

/**
 * Other jobs that may have started, and have lost their places, too: those that came back before this one or with it, and those of the
 * same silence whose leases end later.
 */
function lostBefore(
  job: Recovered,
  recovered: readonly Recovered[],
  came: readonly Recovered[],
): ReadonlySet<string> {
  const others = [...recovered.filter(({ at }) => at <= job.at), ...came.filter(({ at }) => at > job.at)]
  return new Set(others.flatMap((one) => (one !== job && one.mayHaveStarted ? [one.id] : [])))
}

/**
 * How many jobs that were admitted before it stood in its line when it came back, and had started before, or had lost their places:
 * they are counted, too.
 */
function countedBefore({ at, id, key }: Recovered, seen: readonly Seen[], lost: ReadonlySet<string>): number {
  const waits = new Map<string, boolean>()
  for (const { event } of seen.toSorted((a, b) => a.event.at - b.event.at)) {
    if (event.at >= at) break
    if (event.type === 'answer' && event.accepted && event.key === key && !waits.has(event.id)) {
      // Those behind it do not count.
      if (event.id === id) waits.set(id, false)
      else if (!waits.has(id)) waits.set(event.id, lost.has(event.id))
    }
    if (event.type !== 'start' && event.type !== 'return' && event.type !== 'end') continue
    if (event.id !== id && waits.has(event.id)) waits.set(event.id, event.type === 'return')
  }
  return [...waits.values()].filter(Boolean).length
}
