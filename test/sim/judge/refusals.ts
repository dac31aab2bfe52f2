import type { Limit } from '../../../src/core/limit.ts'
import { isRolling } from '../../../src/core/quota.ts'
import { chargesOf } from '../../../src/core/usage.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import { longestIntervalOf } from '../actors/limit-of.ts'
import type { Seen } from '../actors/recorder.ts'
import { travelOf } from './excuses.ts'
import type { Failure } from './judge.ts'
import { type Circumstances, recoveryOf } from './troubles.ts'

type Answer = Extract<HistoryEvent, { type: 'answer' }>
type Refusal = Answer & { accepted: false }

/** Until the store has heard of a start or an end where nothing is in the way; microseconds. */
const NEWS = 300_000
/** For so long after a silence a process may not have been heard; microseconds. */
const RECONNECTS = 3_500_000
/** A producer may ask by a limit that was replaced so long ago: it asks for the rule book twice a second. Microseconds. */
const OLD_LIMIT = 1_500_000
/** What the line promises and what happens differ by that much in any case: times are whole milliseconds. Microseconds. */
const ROUNDING = 2_000

/** Behind the last start a quota has room for any job after its window, and a part of it. */
const WINDOW = 62 / 60
const NEVER = Number.POSITIVE_INFINITY

/** A job, as it counts in its line. Microseconds. */
interface Member {
  readonly id: string
  readonly cost: number
  /** It waits from `from`, and certainly does not from `until` on: the store knew by then that it had started or ended. */
  readonly spans: { readonly from: number; until: number }[]
}

interface Line {
  readonly members: Map<string, Member>
  /** Each was asked for at `at`, and surely counts from `doneAt` on. */
  readonly limits: { readonly at: number; readonly doneAt: number; readonly limit: Limit }[]
  readonly starts: { readonly at: number; readonly cost: number }[]
  readonly freezes: { readonly from: number; readonly until: number }[]
  readonly pauses: { readonly from: number; until: number }[]
}

/**
 * Judges refusals to the unit: a job that was refused as `full` would not have fit, and one that was refused as late could not
 * have started in time. In favour of the store counts only what it cannot have known:
 *
 * - a start or an end, for 0.3 s and the ways of the run; where its process was silent then, until it can be heard again; and
 *   where it died, or stayed silent, until its job came back: its lease and 3.5 s until that is found, so 6 to 13.5 s
 * - a limit that replaced another less than 1.5 s, and a silence of the producer, ago; or one whose change is not answered yet:
 *   both limits may apply
 */
export function judgeRefusals(
  known: Circumstances,
  history: readonly HistoryEvent[],
  seen: readonly Seen[],
  until: number,
): Failure[] {
  const lines = linesOf(known, history, seen)
  const seenOf = lookup(seen)
  const deadlines = new Map(
    known.plan.jobs.flatMap(({ id, deadline }) =>
      deadline === undefined ? [] : [[id, deadline * 1_000] as const],
    ),
  )
  return history.flatMap((event) => {
    if (event.type !== 'answer' || event.accepted || event.at >= until) return []
    const line = lines.get(event.key)!
    const limits = limitsAt(known, line, event.at, seenOf(event)?.by ?? '')
    if (event.reason === 'full' || event.reason === 'too-costly') return judgeFull(event, line, limits)
    if (event.reason === 'deadline') return judgeLate(known, event, line, limits, deadlines.get(event.id))
    return []
  })
}

/** What a refusal is held against: lines, and the limits by which a producer may have asked. */
export class Lines {
  readonly #known: Circumstances
  readonly #lines: ReadonlyMap<string, Line>

  constructor(known: Circumstances, history: readonly HistoryEvent[], seen: readonly Seen[]) {
    this.#known = known
    this.#lines = linesOf(known, history, seen)
  }

  /** Cost units of the key that may have waited then. */
  unitsAt(key: string, refusal: Refusal): number {
    const line = this.#lines.get(key)
    return line === undefined ? 0 : unitsAt(line, refusal)
  }

  /** Of a key or a total, the limits by which the process may have asked. */
  limitsAt(name: string, at: number, by: string): Limit[] {
    return limitsAt(this.#known, this.#lines.get(name)!, at, by)
  }

  /** Whether the key, or the family, may have been paused then. */
  mayBePaused(name: string, at: number): boolean {
    return isHeldAt(this.#lines.get(name), at)
  }

  /** When the last freeze ends of those that began before. */
  frozenUntil(name: string, at: number): number {
    const freezes = this.#lines.get(name)?.freezes ?? []
    return Math.max(0, ...freezes.filter(({ from }) => from <= at).map(({ until }) => until))
  }

  /** The last start of the key until then. */
  lastStartAt(key: string, at: number): { readonly at: number; readonly cost: number } {
    return this.#lines.get(key)?.starts.findLast((start) => start.at <= at) ?? { at: 0, cost: 0 }
  }

  exceedsQuota(limit: Limit, refusal: Refusal): boolean {
    return exceedsQuota(limit, refusal)
  }
}

function judgeFull(event: Refusal, line: Line, limits: readonly Limit[]): Failure[] {
  const capacity = Math.min(...limits.map((limit) => limit.capacity))
  const waiting = event.reason === 'full' ? unitsAt(line, event) : 0
  if (waiting + event.cost > capacity) return []
  if (event.reason === 'too-costly' && limits.some((limit) => exceedsQuota(limit, event))) return []
  const message =
    `key ${event.key}: ${event.id} (cost ${event.cost}) was refused as ${event.reason} while at most ${waiting} units ` +
    `could wait, expected room for ${capacity}`
  return [{ law: 'refusal', at: event.at, message }]
}

function exceedsQuota(limit: Limit, event: Refusal): boolean {
  const charges = chargesOf(limit, event)
  return limit.quotas.some(({ amount }, index) => charges[index]! > amount)
}

function judgeLate(
  { plan, struck }: Circumstances,
  event: Refusal,
  line: Line,
  limits: readonly Limit[],
  deadline: number | undefined,
): Failure[] {
  // After a loss, or when the clock was set, buckets wait for reasons of their own.
  const isQuarantined = struck.some(
    ({ fault, from }) => (fault.kind === 'restart' || fault.kind === 'step') && from <= event.at,
  )
  if (deadline === undefined || isQuarantined || isHeldAt(line, event.at)) return []
  const interval = Math.max(...limits.map(longestIntervalOf))
  const last = line.starts.findLast(({ at }) => at <= event.at)
  const next = last === undefined ? 0 : last.at + interval * last.cost
  const frozen = line.freezes.filter(({ from }) => from <= event.at).map(({ until }) => until)
  const retries = plan.jobs.some(({ attempts }) => attempts > 1) ? 2 : 1
  // It is not known when a place comes free, or how much a period has counted. Each job goes a window after the one before at the latest.
  const parts = limits.flatMap((limit) => limit.quotas)
  if (limits.some((limit) => limit.concurrency < Number.POSITIVE_INFINITY)) return []
  const longest = Math.max(0, ...parts.map(({ window }) => (isRolling(window) ? window.length : NEVER)))
  const ahead = unitsAt(line, event) * retries + 1
  // The latest that it could depart if all goes well: behind all that may wait, also those that only now start.
  const free = Math.max(event.at, next, ...frozen)
  const departs = free + ahead * Math.max(interval, longest * WINDOW) + NEWS + travelOf(plan) * 1_000
  if (departs >= event.at + deadline - ROUNDING) return []
  const message =
    `key ${event.key}: ${event.id} was refused as late, though it would have departed by ${departs / 1e6} s, ` +
    `${(event.at + deadline - departs) / 1_000} ms before its deadline`
  return [{ law: 'refusal', at: event.at, message }]
}

function isHeldAt(line: Line | undefined, at: number): boolean {
  return line?.pauses.some(({ from, until }) => from - NEWS <= at && at <= until + NEWS) ?? false
}

/** Cost units that may have waited, as far as the store can have known, apart from the job that was refused. */
function unitsAt({ members }: Line, { at, id }: Refusal): number {
  let units = 0
  for (const member of members.values()) {
    if (member.id === id) continue
    if (member.spans.some(({ from, until }) => from <= at && at <= until)) units += member.cost
  }
  return units
}

/** The limits that the producer may have asked by. */
function limitsAt({ silences }: Circumstances, { limits }: Line, at: number, by: string): Limit[] {
  const own = silences.filter(({ process, from, until }) => {
    return process === by && from <= at && until + RECONNECTS + OLD_LIMIT >= at
  })
  const since = Math.min(at, ...own.map(({ from }) => from)) - OLD_LIMIT
  const older = limits.findLastIndex((limit) => limit.doneAt <= since)
  return limits
    .slice(Math.max(0, older))
    .filter((limit) => limit.at <= at + NEWS)
    .map(({ limit }) => limit)
}

function linesOf(known: Circumstances, history: readonly HistoryEvent[], seen: readonly Seen[]) {
  const lines = new Map<string, Line>()
  const seenOf = lookup(seen)
  const processOf = (event: HistoryEvent) => seenOf(event)?.by ?? ''
  const owners = new Map<string, Line>()
  const lineOf = (key: string): Line => {
    let line = lines.get(key)
    if (line === undefined) {
      line = { members: new Map(), limits: [], starts: [], freezes: [], pauses: [] }
      lines.set(key, line)
    }
    return line
  }
  for (const event of history) {
    const line = 'key' in event ? lineOf(event.key) : 'id' in event ? owners.get(event.id) : undefined
    if (line === undefined) continue
    const member = 'id' in event ? line.members.get(event.id) : undefined
    const span = member?.spans.at(-1)
    switch (event.type) {
      case 'limit':
        line.limits.push({ at: event.at, doneAt: seenOf(event)?.toldAt ?? event.at, limit: event.limit })
        break
      case 'answer':
        if (event.accepted) wait(line, event, owners)
        break
      case 'start':
        line.starts.push(event)
        if (span !== undefined) span.until = Math.min(span.until, heardBy(known, processOf(event), event.at))
        break
      case 'return':
        // It waits again from now on, whether or not the store had heard of its start.
        member?.spans.push({ from: event.at, until: Number.POSITIVE_INFINITY })
        break
      case 'fault':
        // It may be back in its line from here on until it starts again.
        member?.spans.push({ from: event.at, until: Number.POSITIVE_INFINITY })
        break
      case 'end':
        // The store itself ends what waits; of what runs it hears.
        for (const one of member?.spans ?? []) {
          const isOwn = event.outcome === 'cancelled' || event.outcome === 'expired'
          const endedBy = isOwn
            ? storeEnd(known, seenOf(event), event.at) + ROUNDING
            : heardBy(known, processOf(event), event.at)
          one.until = Math.min(one.until, endedBy)
        }
        break
      case 'freeze':
        line.freezes.push({ from: event.at - NEWS, until: event.until })
        break
      case 'pause':
        line.pauses.push({ from: event.at, until: Number.POSITIVE_INFINITY })
        break
      case 'resume':
        for (const pause of line.pauses) pause.until = Math.min(pause.until, event.at)
        break
    }
  }
  return lines
}

/**
 * When the store itself has ended a job at the latest. Where its clock was set back meanwhile, the time that it notes may be too early:
 * that of the last start. So an end that only the store knows counts from when it was asked.
 */
function storeEnd({ plan }: Circumstances, seen: Seen | undefined, at: number): number {
  const isSetBack = plan.faults.some((fault) => fault.kind === 'step' && fault.by < 0)
  return isSetBack && seen?.by === 'fate' ? (seen.toldAt ?? at) : at
}

/** Where the clock of Redis was set, some events of the history have other times than what was seen: those are known by their names. */
function lookup(seen: readonly Seen[]): (event: HistoryEvent) => Seen | undefined {
  const own = new Map(seen.map((one) => [one.event, one]))
  const named = new Map(seen.map((one) => [nameOf(one.event), one]))
  return (event) => own.get(event) ?? ('id' in event ? named.get(nameOf(event)) : undefined)
}

function nameOf(event: HistoryEvent): string {
  const attempt = event.type === 'start' ? event.attempt : ''
  return 'id' in event ? `${event.type} ${event.id} ${attempt}` : event.type
}

function wait(line: Line, { id, cost, at }: Answer, owners: Map<string, Line>): void {
  const known = line.members.get(id)
  const span = { from: at, until: Number.POSITIVE_INFINITY }
  owners.set(id, line)
  if (known === undefined) line.members.set(id, { id, cost, spans: [span] })
  else known.spans.push(span)
}

/** When the store has heard at the latest of what a process did, or has given its job back. */
function heardBy({ plan, silences }: Circumstances, process: string, at: number): number {
  const calm = NEWS + 6 * travelOf(plan) * 1_000
  let heard = at + calm
  for (const silence of silences.toSorted((a, b) => a.from - b.from)) {
    if (silence.process !== process || silence.from > heard) continue
    const recovered = silence.from + recoveryOf(plan, process)
    if (silence.isDeath) {
      if (silence.from >= at) heard = Math.max(heard, recovered)
      continue
    }
    if (silence.until + RECONNECTS < at) continue
    const after = silence.until + RECONNECTS + calm
    // While all are silent leases last longer.
    heard = Math.max(
      heard,
      silence.cause === 'everything' ? after : Math.min(after, Math.max(heard, recovered)),
    )
  }
  return heard
}
