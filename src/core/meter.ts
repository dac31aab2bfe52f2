import { MILLISECOND, MINUTE } from './duration.ts'

/**
 * The other form of the bucket: a leaky bucket *as a meter*. It counts and says yes or no, and queues nothing. With
 * whole amounts its verdicts are those of GCRA (ITU-T I.371, virtual scheduling) with the limit's interval and a
 * tolerance of (capacity - 1) intervals.
 *
 * - Bound: in any window W at most capacity + W / interval units go in, however many clients ask and however often. If
 *   limits change, it is the capacity of the last one, plus what leaks between each two fills at the rate of the
 *   earlier one.
 * - A refused fill changes nothing, unless it was asked to fill to the brim or to block.
 * - A client that retries after the reported time is accepted, if no other came in between.
 *
 * Everything here is pure: `now` is an argument, times are microseconds, and a new state is returned while the old one
 * stays. A state is the level at one instant, and the interval at which it leaks from then on. It is written only if
 * something goes in or a limit has changed, so reading costs nothing, and frequent reading never rounds a leak away.
 * The stores perform these steps in other languages, operation by operation: change the order there too if you change
 * it here.
 *
 * The meter does not learn when a limit changed. So the time since the last fill leaks at the slower of two limits, the
 * one of that fill and the current one: a limit that was high for an instant does not make the past leak faster, and a
 * lowered one counts from the last fill. A level that has run empty under the limit of its last fill, before a fill
 * under another limit, stays empty.
 */

export interface MeterState {
  /** Units in the bucket at `at`. */
  readonly level: number
  readonly at: number
  /** Every fill is refused until then. */
  readonly blockedUntil: number
  /** Microseconds in which one unit leaks, according to the last fill. 0 if nothing was ever filled. */
  readonly interval: number
}

export interface MeterFill {
  /** Units, 0 or more. */
  readonly amount: number
  readonly capacity: number
  /** Microseconds in which one unit leaks. */
  readonly interval: number
  /** An amount that does not fit fills the bucket to the brim; otherwise it changes nothing. */
  readonly clamp: boolean
  /** How long a fill that does not fit blocks the bucket, in microseconds; 0: not at all. */
  readonly block: number
}

/** Whether the whole amount went in, and the state after the fill: the same object if nothing changed. */
export interface MeterVerdict {
  readonly accepted: boolean
  readonly state: MeterState
}

export const EMPTY: MeterState = Object.freeze({ level: 0, at: 0, blockedUntil: 0, interval: 0 })

/**
 * The rounding error allowed for sums of fractions, as a share of the capacity: ten times 0.1 fits into room for 1. It
 * is allowed once, not per fill, because the level keeps the excess.
 */
export const ROUNDING = 1e-12

/** The smallest factor by which a fill raises a level, so that the double changes however small the amount is. */
export const LEAST_GROWTH = 1 + Number.EPSILON

/**
 * A clock that goes back by less than this was read before waiting, for a lock, say. Nothing leaks until it has caught
 * up, or the same time would leak twice. A clock that goes back by more was set.
 */
export const LONGEST_STEP_BACK = MINUTE

/** Units in the bucket at `now`. A clock that was set back leaks nothing and takes nothing back. */
export function levelAt(state: MeterState, interval: number, now: number): number {
  return leaked(stateAt(state, now), interval, now)
}

/** What there is to tell of a bucket at one instant. */
export interface MeterFacts {
  /** As `levelAt`. */
  readonly level: number
  readonly isBlocked: boolean
  /** Microseconds until it is empty if no fill comes. */
  readonly emptyIn: number
}

export function factsAt(before: MeterState, interval: number, now: number): MeterFacts {
  const state = stateAt(before, now)
  const { level, at, blockedUntil } = state
  return {
    level: leaked(state, interval, now),
    isBlocked: blockedUntil > now,
    emptyIn: level > 0 ? Math.max(0, level * state.interval - (now - at)) : 0,
  }
}

/** Whether no more than the rounding error fits in. */
export function isFull(level: number, capacity: number): boolean {
  return level >= capacity * (1 - ROUNDING)
}

/** Whether the amount would fit at `now`. */
export function fits(before: MeterState, { amount, capacity, interval }: MeterFill, now: number): boolean {
  const state = stateAt(before, now)
  return hasRoom(state, withMore(leaked(state, interval, now), amount), capacity, now)
}

/**
 * Fills the bucket. An amount that does not fit changes nothing; with `clamp` it fills to the brim, and with `block` it
 * blocks. If the interval differs from that of the last fill, any fill, even a refused one, stores the leaked level and
 * the new interval.
 */
export function fill(before: MeterState, request: MeterFill, now: number): MeterVerdict {
  return fillWhere(true, before, request, now)
}

/**
 * The same where something else has to allow it, too: if that does not, nothing goes in. To the brim it is filled only if the amount
 * does not fit.
 */
export function fillWhere(
  isAllowed: boolean,
  before: MeterState,
  request: MeterFill,
  now: number,
): MeterVerdict {
  const { amount, capacity, interval, clamp, block } = request
  const state = stateAt(before, now)
  const { blockedUntil } = state
  const at = Math.max(state.at, now)
  const level = leaked(state, interval, now)
  const filled = withMore(level, amount)
  const hasSpace = hasRoom(state, filled, capacity, now)
  const accepted = hasSpace && isAllowed
  if (accepted && amount !== 0) return { accepted, state: { level: filled, at, blockedUntil, interval } }
  const toTheBrim = clamp && !hasSpace
  // While a block lasts, it is not extended, and nothing goes in.
  if (accepted || blockedUntil > now || (!toTheBrim && block === 0)) {
    if (state.interval === 0 || state.interval === interval) return { accepted, state }
    return { accepted, state: { level, at, blockedUntil, interval } }
  }
  return {
    accepted,
    state: {
      level: toTheBrim ? Math.max(level, capacity) : level,
      at,
      blockedUntil: block > 0 ? now + block : blockedUntil,
      interval,
    },
  }
}

/** Microseconds until the amount fits if no other comes first; Infinity if it never fits. */
export function waitFor(before: MeterState, request: MeterFill, now: number): number {
  const { amount, capacity, interval } = request
  if (amount > capacity * (1 + ROUNDING)) return Number.POSITIVE_INFINITY
  const state = stateAt(before, now)
  const level = leaked(state, interval, now)
  // Half of the allowed rounding error: the time is not too early, and a whole number of units is not rounded up.
  const excess = Math.min(level, level + amount - capacity * (1 + ROUNDING / 2))
  const room = excess > 0 ? Math.max(0, state.at - now) + excess * Math.max(state.interval, interval) : 0
  return Math.max(room, state.blockedUntil - now, 0)
}

/**
 * `waitFor` of a refusal, in whole milliseconds, at least 1, since timers count in milliseconds and must not fire early. It
 * needs no allowance for rounding, unlike `retryAfterMs` of a line: `waitFor` has it, and no time since the epoch is in it.
 */
export function refusedForMs(before: MeterState, request: MeterFill, now: number): number {
  return Math.max(1, Math.ceil(waitFor(before, request, now) / MILLISECOND))
}

/** The time from which the state may be forgotten; one microsecond late, since sums of times are rounded. */
export function forgottenAt({ level, at, blockedUntil, interval }: MeterState): number {
  return Math.max(at + level * interval, blockedUntil) + 1
}

/**
 * The state as it counts at `now`. One that may be forgotten counts as empty, whether a store still has it or not.
 * After the clock was set back, leak and block count from now, not from when the clock has caught up; only a fill, even
 * a refused one, stores that.
 */
export function stateAt(state: MeterState, now: number): MeterState {
  const ahead = state.at - now
  if (ahead > LONGEST_STEP_BACK) {
    return { ...state, at: now, blockedUntil: Math.max(0, state.blockedUntil - ahead) }
  }
  return forgottenAt(state) <= now ? EMPTY : state
}

function leaked({ level, at, interval: kept }: MeterState, interval: number, now: number): number {
  return Math.max(0, level - Math.max(0, now - at) / Math.max(kept, interval))
}

/** An amount too small to change the double counts, too; otherwise any number of them would go in. */
function withMore(level: number, amount: number): number {
  return amount === 0 ? level : Math.max(level + amount, level * LEAST_GROWTH)
}

function hasRoom({ blockedUntil }: MeterState, level: number, capacity: number, now: number): boolean {
  return blockedUntil <= now && level <= capacity * (1 + ROUNDING)
}
