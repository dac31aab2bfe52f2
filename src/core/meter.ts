import { MINUTE } from './duration.ts'

/**
 * The other form of the bucket: a leaky bucket *as a meter*. It counts and says yes or no, and queues nothing. With
 * whole amounts its verdicts are those of GCRA (ITU-T I.371, virtual scheduling) with the limit's interval and a
 * tolerance of (capacity - 1) intervals.
 *
 * - Bound: a window W takes in at most capacity + W / interval units, whoever asks and however often. Of limits that
 *   change: the capacity of the last, and of each stretch between two fills what leaks at the rate of the one before it.
 * - A refused fill changes nothing, unless it was to fill to the brim or to block.
 * - Whoever comes back when told gets in, if nobody else came in between.
 *
 * Everything here is pure: `now` is an argument, times are microseconds, a new state is answered and the old one stays.
 * A state is the level at one instant, and the limit by which it leaks from then on. It is written only when something
 * goes in, or a limit has changed, so asking costs nothing, and no leak is ever rounded away by asking often. Stores do
 * these steps in other languages, operation by operation: a change of their order here is one there.
 *
 * Who changes a limit tells nobody when. So the time since the last fill leaks at the slower of its limit and of that of
 * now: one that was high for an instant lets nothing of the past leak faster, and one that was lowered counts from the
 * last fill. But nothing is timed anew that nobody asks about: a level that has run empty under the limit of its last
 * fill, before anybody came to fill under another, is gone.
 */

export interface MeterState {
  /** Units that were in it at `at`. */
  readonly level: number
  readonly at: number
  /** Until then every fill is refused. */
  readonly blockedUntil: number
  /** That of the last fill: in which one unit leaks. 0 where nothing was ever filled. */
  readonly interval: number
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

export const EMPTY: MeterState = Object.freeze({ level: 0, at: 0, blockedUntil: 0, interval: 0 })

/**
 * The part of a capacity that sums of fractions may be off by: ten times 0.1 fits where there is room for 1. It is
 * there once, not for every fill, since the level keeps what it was exceeded by.
 */
export const ROUNDING = 1e-12

/** What a level is multiplied by, at least, when something goes in: it is then another double, however little went in. */
export const LEAST_GROWTH = 1 + Number.EPSILON

/**
 * A clock that goes back by less was waited for: by those behind a lock, say, who read it before. Nothing leaks until
 * it has caught up, or the same time would leak twice. One that goes back by more was set.
 */
export const LONGEST_STEP_BACK = MINUTE

/** Units in the bucket at `now`. A clock that was set back leaks nothing, and takes nothing back. */
export function levelAt(state: MeterState, interval: number, now: number): number {
  return leaked(stateAt(state, now), interval, now)
}

export function isBlocked(state: MeterState, now: number): boolean {
  return stateAt(state, now).blockedUntil > now
}

/** Nothing more than rounding fits in. */
export function isFull(level: number, capacity: number): boolean {
  return level >= capacity * (1 - ROUNDING)
}

/** Whether the amount would go in at `now`. */
export function fits(before: MeterState, { amount, capacity, interval }: MeterFill, now: number): boolean {
  const state = stateAt(before, now)
  return hasRoom(state, withMore(leaked(state, interval, now), amount), capacity, now)
}

/**
 * What does not fit changes nothing; clamped it fills to the brim, and it may block. Under another interval than that
 * of the last fill, any fill, also one that is refused, writes down what has leaked, and that it leaks so from now on.
 */
export function fill(before: MeterState, request: MeterFill, now: number): MeterVerdict {
  const { amount, capacity, interval, clamp, block } = request
  const state = stateAt(before, now)
  const { blockedUntil } = state
  const at = Math.max(state.at, now)
  const level = leaked(state, interval, now)
  const filled = withMore(level, amount)
  const accepted = hasRoom(state, filled, capacity, now)
  if (accepted && amount !== 0) return { accepted, state: { level: filled, at, blockedUntil, interval } }
  // A block neither grows nor is filled while it lasts.
  if (accepted || blockedUntil > now || (!clamp && block === 0)) {
    if (state.interval === 0 || state.interval === interval) return { accepted, state }
    return { accepted, state: { level, at, blockedUntil, interval } }
  }
  return {
    accepted,
    state: {
      level: clamp ? Math.max(level, capacity) : level,
      at,
      blockedUntil: block > 0 ? now + block : blockedUntil,
      interval,
    },
  }
}

/** Microseconds until the amount goes in if nobody else comes; Infinity when it never fits. */
export function waitFor(before: MeterState, request: MeterFill, now: number): number {
  const { amount, capacity, interval } = request
  if (amount > capacity * (1 + ROUNDING)) return Number.POSITIVE_INFINITY
  const state = stateAt(before, now)
  const level = leaked(state, interval, now)
  // Half of what rounding is allowed: so neither is it found too early when the time has come, nor a whole one made more.
  const excess = Math.min(level, level + amount - capacity * (1 + ROUNDING / 2))
  const room = excess > 0 ? Math.max(0, state.at - now) + excess * Math.max(state.interval, interval) : 0
  return Math.max(room, state.blockedUntil - now, 0)
}

/** Microseconds until nothing is in it if nobody comes. */
export function emptyIn(before: MeterState, now: number): number {
  const { level, at, interval } = stateAt(before, now)
  return level > 0 ? Math.max(0, level * interval - (now - at)) : 0
}

/** From when on nothing need be remembered; a microsecond late, since a sum of times is rounded by a part of one. */
export function forgottenAt({ level, at, blockedUntil, interval }: MeterState): number {
  return Math.max(at + level * interval, blockedUntil) + 1
}

/**
 * What the state means at `now`. One that need not be remembered is nothing, whether a store still has it or not. After
 * the clock was set back, leak and block count from now on, not from when it has caught up; only a fill, also one that
 * is refused, writes that down.
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

/** An amount that is too small to be seen beside the level counts, too: else any number of them would go in. */
function withMore(level: number, amount: number): number {
  return amount === 0 ? level : Math.max(level + amount, level * LEAST_GROWTH)
}

function hasRoom({ blockedUntil }: MeterState, level: number, capacity: number, now: number): boolean {
  return blockedUntil <= now && level <= capacity * (1 + ROUNDING)
}
