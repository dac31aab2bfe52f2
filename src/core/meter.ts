/**
 * The other form of the bucket: a leaky bucket *as a meter*. It counts and says yes or no, and queues nothing. With
 * whole amounts its verdicts are those of GCRA (ITU-T I.371, virtual scheduling) with the limit's interval and a
 * tolerance of (capacity - 1) intervals.
 *
 * Everything here is pure: `now` is an argument, times are microseconds, a new state is answered and the old one stays.
 * A state is the level at one instant. It is written only when something goes in, so asking costs nothing, and no leak
 * is ever rounded away by asking often.
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

/** Whether the whole amount went in, and the state as the fill left it. */
export interface MeterVerdict {
  readonly accepted: boolean
  readonly state: MeterState
}

export const EMPTY: MeterState = { level: 0, at: 0, blockedUntil: 0 }

/** The part of a capacity that sums of fractions may be off by: ten times 0.1 fits where there is room for 1. */
const ROUNDING = 1e-12

/** Units in the bucket at `now`. A clock that was set back leaks nothing, and takes nothing back. */
export function levelAt({ level, at }: MeterState, interval: number, now: number): number {
  return Math.max(0, level - Math.max(0, now - at) / interval)
}

/** Whether the amount would go in at `now`. */
export function fits(state: MeterState, { amount, capacity, interval }: MeterFill, now: number): boolean {
  return state.blockedUntil <= now && levelAt(state, interval, now) + amount <= capacity * (1 + ROUNDING)
}

/** What does not fit changes nothing; clamped it fills to the brim, and it may block. */
export function fill(state: MeterState, request: MeterFill, now: number): MeterVerdict {
  const { amount, capacity, interval, clamp, block } = request
  const at = Math.max(state.at, now)
  const level = levelAt(state, interval, now)
  if (fits(state, request, now)) {
    if (amount === 0) return { accepted: true, state }
    return { accepted: true, state: { ...state, level: Math.min(capacity, level + amount), at } }
  }
  // A block neither grows nor is filled while it lasts.
  if (state.blockedUntil > now) return { accepted: false, state }
  const filled = clamp ? { level: Math.max(level, capacity), at } : { level: state.level, at: state.at }
  return {
    accepted: false,
    state: { ...filled, blockedUntil: block > 0 ? now + block : state.blockedUntil },
  }
}

/** Microseconds until the amount goes in if nobody else comes; Infinity when it never fits. */
export function waitFor(state: MeterState, request: MeterFill, now: number): number {
  if (request.amount > request.capacity * (1 + ROUNDING)) return Number.POSITIVE_INFINITY
  const { level, at } = state
  const { amount, capacity, interval } = request
  const room = Math.max(at, now) + (levelAt(state, interval, now) + amount - capacity) * interval
  return level === 0 && state.blockedUntil <= now ? 0 : Math.max(0, room - now, state.blockedUntil - now)
}

/** From when on nothing need be remembered. */
export function forgottenAt({ level, at, blockedUntil }: MeterState, interval: number): number {
  return Math.max(at + level * interval, blockedUntil)
}
