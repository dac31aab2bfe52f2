/**
 * A quota: at most `amount` may start within a window, however it is spaced. It keeps law L10: the cost of what started in
 * the window, with the start that is asked for, is at most the amount.
 *
 * A rolling window is counted in sub-windows of a sixtieth of its length. A sub-window counts until its last moment has left
 * the window, so the law is exact, and at most a sixtieth of the window is lost. A calendar period is counted whole. The
 * clock of the other side may differ, so a start within a second of a boundary counts in both periods.
 *
 * Everything here is pure but for the given use: `now` and `at` are arguments, times are microseconds.
 */

import { type CalendarWindow, endOfPeriod, startOfPeriod } from './calendar.ts'
import { MILLISECOND, SECOND } from './duration.ts'

export interface Quota {
  /** Units that may start in one window; a whole number above 0. */
  readonly amount: number
  /** What is counted, such as `tokens`; undefined: cost units. */
  readonly unit: string | undefined
  /** What a job counts that does not say; undefined for cost units, which every job has. */
  readonly each: number | undefined
  readonly window: RollingWindow | CalendarWindow
  /** Of one that is remembered, because the limit has it no more (remembered.ts): when it is forgotten. */
  readonly until?: number
}

/** What tells the quotas of a limit apart, and those that are remembered. */
export type QuotaWindow = Pick<Quota, 'unit' | 'window' | 'until'>

export interface RollingWindow {
  /** Microseconds. */
  readonly length: number
}

/**
 * What started in the window of a quota. Starts of one sub-window, or of one period, make one entry: `ends` says when it stops to
 * count, in ascending order, and `used` how much it counts.
 */
export interface QuotaUse {
  readonly ends: number[]
  readonly used: number[]
}

/** The parts of a rolling window. */
export const SUB_WINDOWS = 60
/**
 * A start so close to the boundary of a period counts in both: the clock of the other side may differ by a second. When a worker
 * started a job is known on Redis to half a millisecond; that the start counts there as later must not take it out of the second.
 */
export const BOUNDARY = SECOND + MILLISECOND
/** How long the periods of calendars are, in microseconds; but for days on which clocks change. */
export const LENGTHS = { hour: 3_600 * SECOND, day: 86_400 * SECOND, week: 604_800 * SECOND } as const
/** A slot may be reserved so far ahead; an entry that is later is from before the clock was set back. */
export const FARTHEST_AHEAD = 250_000

export function isRolling(window: Quota['window']): window is RollingWindow {
  return 'length' in window
}

/** How far the window looks back, in microseconds; of a calendar about so far. */
export function lengthOf(window: Quota['window']): number {
  return isRolling(window) ? window.length : LENGTHS[window.period]
}

export function isSameWindow({ window: a }: QuotaWindow, { window: b }: QuotaWindow): boolean {
  if (isRolling(a)) return isRolling(b) && a.length === b.length
  return !isRolling(b) && a.period === b.period && a.zone === b.zone
}

export function createUse(): QuotaUse {
  return { ends: [], used: [] }
}

export function copyUse({ ends, used }: QuotaUse): QuotaUse {
  return { ends: [...ends], used: [...used] }
}

/** What counts at `now`. Of two periods near their boundary, the one of which more is used. */
export function usedAt(quota: Quota, { ends, used }: QuotaUse, now: number): number {
  if (isRolling(quota.window))
    return used.reduce((sum, units, index) => (ends[index]! > now ? sum + units : sum), 0)
  return Math.max(...entriesAt(quota, now).map((end) => used[ends.indexOf(end)] ?? 0))
}

/**
 * Returns the earliest time from `from` on at which the quota has room for `charge`. One above the whole quota has room when
 * nothing else counts.
 */
export function roomAt(quota: Quota, use: QuotaUse, charge: number, from: number): number {
  return isRolling(quota.window)
    ? roomInWindow(quota, use, charge, from)
    : roomInPeriod(quota, use, charge, from)
}

/** Counts `charge` units as started at `at`; a negative charge takes that back, and what has stopped to count stays so. */
export function charge({ window }: Pick<Quota, 'window'>, use: QuotaUse, units: number, at: number): void {
  if (isRolling(window)) add(use, endOfPart(window.length, at), units)
  else for (const end of entriesAt({ window }, at)) add(use, end, units)
}

/** Forgets what counts no more, and lets nothing count for longer than a start that is reserved now. */
export function tidy(quota: Quota, { ends, used }: QuotaUse, now: number): void {
  let gone = 0
  while (gone < ends.length && ends[gone]! <= now) gone++
  if (gone > 0) {
    ends.splice(0, gone)
    used.splice(0, gone)
  }
  if (ends.length === 0) return
  const last = entriesAt(quota, now + FARTHEST_AHEAD).at(-1)!
  let excess = 0
  while (ends.length > 0 && ends.at(-1)! > last) {
    ends.pop()
    excess += used.pop()!
  }
  if (excess > 0) add({ ends, used }, last, excess)
}

/**
 * Counts under `after` what was counted under `before`, for a limit that changed at `now`. What is not known exactly counts for
 * longer, never for shorter.
 */
export function carryOver(before: QuotaWindow, use: QuotaUse, after: Quota, now: number): QuotaUse {
  const carried = createUse()
  for (const [index, end] of use.ends.entries()) {
    if (end <= now) continue
    // No start of the entry was later.
    const latest = end - (isRolling(before.window) ? before.window.length : BOUNDARY)
    // Near a boundary it may be of either period.
    for (const last of entriesAt(after, Math.min(latest, now + FARTHEST_AHEAD))) {
      add(carried, last, use.used[index]!)
    }
  }
  return carried
}

/** When the last entry stops to count. */
export function forgettableAt({ ends }: QuotaUse): number {
  return ends.at(-1) ?? Number.NEGATIVE_INFINITY
}

/** Returns when the sub-window of a rolling window stops to count in which `at` lies. */
export function endOfPart(length: number, at: number): number {
  const part = Math.ceil(length / SUB_WINDOWS)
  return (Math.floor(at / part) + 1) * part + length
}

/** Returns when the entries end in which a start at `at` counts. */
export function entriesAt({ window }: Pick<Quota, 'window'>, at: number): number[] {
  if (isRolling(window)) {
    return [endOfPart(window.length, at)]
  }
  const first = endOfPeriod(window, at - BOUNDARY) + BOUNDARY
  const last = endOfPeriod(window, at + BOUNDARY) + BOUNDARY
  return first === last ? [first] : [first, last]
}

/**
 * Returns when the period begins in which a start at `at` counts first, and when it and the next two end: for those who count
 * elsewhere and know no calendar.
 */
export function boundsAt(window: CalendarWindow, at: number): number[] {
  const bounds = [startOfPeriod(window, at - BOUNDARY)]
  while (bounds.length < 4) bounds.push(endOfPeriod(window, bounds.at(-1)!))
  return bounds
}

function roomInWindow({ amount }: Quota, { ends, used }: QuotaUse, units: number, from: number): number {
  let total = units
  let first = ends.length
  while (first > 0 && ends[first - 1]! > from) total += used[--first]!
  return roomAmong(amount, { ends, used }, first, total, from)
}

/** The same, where `total` is the units and what the entries count from the first on. */
export function roomAmong(
  amount: number,
  { ends, used }: QuotaUse,
  first: number,
  total: number,
  from: number,
): number {
  let at = from
  let left = total
  for (let index = first; index < ends.length; index++) {
    if (ends[index]! > from) {
      if (left <= amount) break
      at = ends[index]!
    }
    left -= used[index]!
  }
  return at
}

function roomInPeriod(quota: Quota, { ends, used }: QuotaUse, units: number, from: number): number {
  for (let at = from; ; ) {
    const full = entriesAt(quota, at).find((end) => {
      const counted = used[ends.indexOf(end)] ?? 0
      return counted > 0 && counted + units > quota.amount
    })
    if (full === undefined) return at
    at = full
  }
}

function add({ ends, used }: QuotaUse, end: number, units: number): void {
  let index = ends.length
  while (index > 0 && ends[index - 1]! > end) index--
  if (index > 0 && ends[index - 1] === end) {
    const sum = used[index - 1]! + units
    if (sum > 0) used[index - 1] = sum
    else {
      ends.splice(index - 1, 1)
      used.splice(index - 1, 1)
    }
  } else if (units > 0) {
    ends.splice(index, 0, end)
    used.splice(index, 0, units)
  }
}
