import { isWithin } from '../../../src/conformance/totals.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../../support/turn-id.ts'
import type { Seen } from '../actors/recorder.ts'
import { goingTotals, totalsAbove } from '../plan/total-plan.ts'
import { travelOf } from './excuses.ts'
import type { Failure } from './judge.ts'
import { Lines } from './refusals.ts'
import type { Circumstances } from './troubles.ts'

/** A child may fill so many times the room that its family leaves. */
const SHARE_OF_ROOM = 4
/** A slot is granted so far ahead at most; microseconds. */
const GRANTED_AHEAD = 250_000
/** Beside the ways of a call, until what was done is known; microseconds. */
const NEWS = 300_000

type Refusal = Extract<HistoryEvent, { type: 'answer' }> & { readonly accepted: false }

/** Of a key whose total refused a job, nothing is said. */
export function withoutRefusalsOfTotals(
  history: readonly HistoryEvent[],
  seen: readonly Seen[],
): HistoryEvent[] {
  const refused = refusalsOfTotals(seen)
  return history.filter((event) => !refused.has(event))
}

function refusalsOfTotals(seen: readonly Seen[]): ReadonlyMap<HistoryEvent, string> {
  return new Map(seen.flatMap(({ event, total }) => (total === undefined ? [] : [[event, total] as const])))
}

/**
 * Judges what totals refused, in favour of the store where it cannot have known something, as for keys:
 *
 * - `full`, to the unit: there was no room below the total, or the line of the child would have been more than four times what is left
 * - `too-costly`: the job was above the capacity or a quota
 * - `paused`: the family was paused, and the job had a deadline or no room. Others are not refused
 * - `deadline`: the line of the key alone would have taken longer by the pace of the total
 */
export function judgeRefusalsOfTotals(
  known: Circumstances,
  history: readonly HistoryEvent[],
  seen: readonly Seen[],
  until: number,
): Failure[] {
  const refused = refusalsOfTotals(seen)
  if (refused.size === 0 || goingTotals(known.plan).size > 0) return []
  const lines = new Lines(known, history, seen)
  const by = new Map(seen.map((one) => [one.event, one.by]))
  return [...refused].flatMap(([event, total]): Failure[] => {
    if (event.type !== 'answer' || event.accepted || event.at >= until) return []
    const asked = { known, lines, total, event, limits: lines.limitsAt(total, event.at, by.get(event) ?? '') }
    const why = WRONG[event.reason](asked)
    if (why === undefined) return []
    const { at, id, key, cost } = event
    const message = `total ${total}: ${id} of ${key} (cost ${cost}) was refused as ${event.reason}, ${why}`
    return [{ law: 'refusal', at, message }]
  })
}

interface Asked {
  readonly known: Circumstances
  readonly lines: Lines
  readonly total: string
  readonly event: Refusal
  readonly limits: ReturnType<Lines['limitsAt']>
}

/** By reason, what is wrong with a refusal; undefined: nothing. */
const WRONG: Record<Refusal['reason'], (asked: Asked) => string | undefined> = {
  full: whyNotFull,
  'too-costly': ({ limits, lines, event }) => {
    const isAbove = limits.some((limit) => limit.capacity < event.cost || lines.exceedsQuota(limit, event))
    return isAbove ? undefined : 'and costs no more than its capacity and its quotas'
  },
  paused: (asked) => {
    const { known, lines, total, event } = asked
    if (!lines.mayBePaused(total, event.at)) return 'while it was not paused'
    return isTurnId(event.id) || deadlineOf(known, event) !== undefined ? undefined : whyNotFull(asked)
  },
  deadline: whyNotLate,
}

function whyNotFull({ known, lines, total, event, limits }: Asked): string | undefined {
  const capacity = Math.min(...limits.map((limit) => limit.capacity))
  const waiting = (path: string) => sum(keysOf(known, path).map((key) => lines.unitsAt(key, event)))
  const room = capacity - waiting(total)
  const above = totalsAbove(known.plan, event.key)
  const child = above[above.indexOf(total) + 1] ?? event.key
  if (event.cost > room || waiting(child) + event.cost > SHARE_OF_ROOM * room) return undefined
  return `while at most ${capacity - room} units could wait below it, expected room for ${capacity}`
}

function whyNotLate({ known, lines, total, event, limits }: Asked): string | undefined {
  const { plan, struck } = known
  const deadline = deadlineOf(known, event)
  // After a loss, or when the clock was set, totals wait for reasons of their own.
  const isQuarantined = struck.some(
    ({ fault, from }) => (fault.kind === 'restart' || fault.kind === 'step') && from <= event.at,
  )
  if (deadline === undefined || isQuarantined) return undefined
  const interval = Math.max(...limits.map((limit) => limit.interval))
  const last = keysOf(known, total).map((key) => lines.lastStartAt(key, event.at))
  const costliest = Math.max(...[...plan.jobs, ...plan.turns].map(({ cost }) => cost))
  const next = Math.max(event.at, ...last.map(({ at, cost }) => at + interval * cost))
  const free = Math.max(next + GRANTED_AHEAD + interval * costliest, lines.frozenUntil(total, event.at))
  const departs = free + interval * lines.unitsAt(event.key, event) + NEWS + travelOf(plan) * 1_000
  if (departs >= event.at + deadline) return undefined
  return `though it could have departed by ${departs / 1e6} s, ${(event.at + deadline - departs) / 1_000} ms before its deadline`
}

/** Microseconds after it was asked for; undefined: it had none. */
function deadlineOf({ plan }: Circumstances, { id }: Refusal): number | undefined {
  const deadline = plan.jobs.find((job) => job.id === id)?.deadline
  return deadline === undefined ? undefined : deadline * 1_000
}

function keysOf({ plan }: Circumstances, path: string): string[] {
  return plan.keys.map(({ key }) => key).filter((key) => key === path || isWithin(key, path))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
