import { MINUTE } from './duration.ts'

/**
 * The other form of the bucket: a leaky bucket *as a meter*. It counts and says yes or no, and queues nothing. With
 * whole amounts its verdicts are those of GCRA (ITU-T I.371, virtual scheduling) with the limit's interval and a
 * tolerance of (capacity - 1) intervals.
 *
 * - Bound: any window W takes in at most capacity + W / interval units, whoever asks and however often.
 * - A refused fill changes nothing, unless it was to fill to the brim or to block.
 * - Whoever comes back when told gets in, if nobody else came in between.
 *
 * Everything here is pure: `now` is an argument, times are microseconds, a new state is answered and the old one stays.
 * A state is the level at one instant. It is written only when something goes in, so asking costs nothing, and no leak
 * is ever rounded away by asking often. Stores do these steps in other languages, operation by operation: a change of
 * their order here is one there.
 */

export interface MeterState {
  /** Units that were in it at `at`. */
  readonly level: number
  readonly at: number
  /** Until then every fill is refused. */
  readonly blockedUntil: number
}

export interface MeterFill {
  /** Units, 0 or more. */
  readonly amount: number
  readonly capacity: number
  /** In which one unit leaks. */
  readonly interval: number
  /** What does not fit as a whole fills to the brim; else it changes nothing. */
  readonly clamp: boolean
  /** For how long a fill that does not fit blocks the bucket; 0: not at all. */
  readonly block: number
}

/** Whether the whole amount went in, and the state as the fill left it: the same object where it changed nothing. */
export interface MeterVerdict {
  readonly accepted: boolean
  readonly state: MeterState
}

export const EMPTY: MeterState = { level: 0, at: 0, blockedUntil: 0 }

/**
 * The part of a capacity that sums of fractions may be off by: ten times 0.1 fits where there is room for 1. It is
 * there once, not for every fill, since the level keeps what it was exceeded by.
 */
export const ROUNDING = 1e-12

/**
 * A clock that goes back by less was waited for: by those behind a lock, say, who read it before. Nothing leaks until
 * it has caught up, or the same time would leak twice. One that goes back by more was set.
 */
export const LONGEST_STEP_BACK = MINUTE

/** Units in the bucket at `now`. A clock that was set back leaks nothing, and takes nothing back. */
export function levelAt({ level, at }: MeterState, interval: number, now: number): number {
  return Math.max(0, level - Math.max(0, now - at) / interval)
}

export function isBlocked({ blockedUntil }: MeterState, now: number): boolean {
  return blockedUntil > now
}

/** Nothing more than rounding fits in. */
export function isFull(level: number, capacity: number): boolean {
  return level >= capacity * (1 - ROUNDING)
}

/** Whether the amount would go in at `now`. */
export function fits(state: MeterState, { amount, capacity, interval }: MeterFill, now: number): boolean {
  return !isBlocked(state, now) && levelAt(state, interval, now) + amount <= capacity * (1 + ROUNDING)
}

/** What does not fit changes nothing; clamped it fills to the brim, and it may block. */
export function fill(before: MeterState, request: MeterFill, now: number): MeterVerdict {
  const { amount, capacity, interval, clamp, block } = request
  const state = heal(before, now)
  const { blockedUntil } = state
  const at = Math.max(state.at, now)
  const level = levelAt(state, interval, now)
  if (fits(state, request, now)) {
    if (amount === 0) return { accepted: true, state }
    return { accepted: true, state: { level: level + amount, at, blockedUntil } }
  }
  // A block neither grows nor is filled while it lasts.
  if (isBlocked(state, now) || (!clamp && block === 0)) return { accepted: false, state }
  return {
    accepted: false,
    state: {
      level: clamp ? Math.max(level, capacity) : level,
      at,
      blockedUntil: block > 0 ? now + block : blockedUntil,
    },
  }
}

/**
 * After the clock was set back, leak and block count from now on, not from when it has caught up. Only a fill, also one
 * that is refused, writes that down.
 */
function heal(state: MeterState, now: number): MeterState {
  const ahead = state.at - now
  if (ahead <= LONGEST_STEP_BACK) return state
  return { level: state.level, at: now, blockedUntil: Math.max(0, state.blockedUntil - ahead) }
}

/** Microseconds until the amount goes in if nobody else comes; Infinity when it never fits. */
export function waitFor(state: MeterState, request: MeterFill, now: number): number {
  const { amount, capacity, interval } = request
  if (amount > capacity * (1 + ROUNDING)) return Number.POSITIVE_INFINITY
  const level = levelAt(state, interval, now)
  // Half of what rounding is allowed: so neither is it found too early when the time has come, nor a whole one made more.
  const excess = Math.min(level, level + amount - capacity * (1 + ROUNDING / 2))
  const room = excess > 0 ? Math.max(0, state.at - now) + excess * interval : 0
  return Math.max(room, state.blockedUntil - now, 0)
}

/** Microseconds until nothing is in it if nobody comes. */
export function emptyIn(before: MeterState, interval: number, now: number): number {
  const state = heal(before, now)
  const level = levelAt(state, interval, now)
  return level > 0 ? Math.max(0, state.at - now) + level * interval : 0
}

/** From when on nothing need be remembered; a microsecond late, since a sum of times is rounded by a part of one. */
export function forgottenAt({ level, at, blockedUntil }: MeterState, interval: number): number {
  return Math.max(at + level * interval, blockedUntil) + 1
}
