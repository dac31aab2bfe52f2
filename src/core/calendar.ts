import { Temporal } from 'temporal-polyfill'
import { MILLISECOND, SECOND } from './duration.ts'

/** A period of the calendar of one time zone: an hour, a day, or a week that begins on Monday (ISO 8601). */
export interface CalendarWindow {
  readonly period: Period
  /** A name of the IANA time zone database, such as `America/Los_Angeles`. */
  readonly zone: string
}

export const PERIODS = ['hour', 'day', 'week'] as const
export type Period = (typeof PERIODS)[number]

/** A name such as `America/Los_Angeles`, or an offset such as `+05:30`. Temporal takes the text of a whole date, too. */
const ZONE = /^(?:[a-z][\w+/-]*|[+-]\d\d:?\d\d)$/i

/** Whether the text may be the name of a time zone; it may be of one that is not known here. */
export function isZoneName(text: string): boolean {
  return ZONE.test(text)
}

/** Returns the time zone's name as the database spells it; undefined where it is not known here. */
export function zoneNamed(name: string): string | undefined {
  if (!isZoneName(name)) return undefined
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId
  } catch {
    return undefined
  }
}

/** When the clocks of a zone are set, within some time. All numbers are whole seconds. */
export interface ClockChanges {
  /** What is known: from then on, until then. */
  readonly from: number
  readonly until: number
  /** By how much the clock is ahead of UTC at first. */
  readonly offset: number
  /** When it is set, in order, and by how much it is ahead from then on. */
  readonly changes: readonly { readonly at: number; readonly offset: number }[]
}

/**
 * Returns when the clocks of the zone are set between two moments, in seconds since the epoch; for a shorter time where that is more
 * often than `most`.
 */
export function clockChanges(zone: string, from: number, until: number, most: number): ClockChanges {
  const first = Temporal.Instant.fromEpochMilliseconds(from * MILLISECOND).toZonedDateTimeISO(zone)
  const changes: { at: number; offset: number }[] = []
  let next = first.getTimeZoneTransition('next')
  while (next !== null && secondsOf(next) < until && changes.length < most) {
    changes.push({ at: secondsOf(next), offset: offsetOf(next) })
    next = next.getTimeZoneTransition('next')
  }
  const end = next === null ? until : Math.min(until, secondsOf(next))
  return { from, until: end, offset: offsetOf(first), changes }
}

function secondsOf({ epochMilliseconds }: Temporal.ZonedDateTime): number {
  return Math.floor(epochMilliseconds / MILLISECOND)
}

function offsetOf({ offsetNanoseconds }: Temporal.ZonedDateTime): number {
  return Math.floor(offsetNanoseconds / (MILLISECOND * SECOND))
}

/** The period of each window that was asked for last: nearly all questions are about the same one. */
const LAST = new WeakMap<CalendarWindow, Interval[]>()
/** Those of now and beside it, and one for each job that a forecast follows: to compute one takes as long as to follow ten jobs. */
const MOST_REMEMBERED = 256

interface Interval {
  readonly from: number
  readonly until: number
}

/** Returns when the period ends in which `at` lies; both in microseconds since the epoch. */
export function endOfPeriod(window: CalendarWindow, at: number): number {
  return periodOf(window, at).until
}

/** Returns when the period begins in which `at` lies. */
export function startOfPeriod(window: CalendarWindow, at: number): number {
  return periodOf(window, at).from
}

function periodOf(window: CalendarWindow, at: number): Interval {
  const known = LAST.get(window) ?? []
  const found = known.find(({ from, until }) => from <= at && at < until)
  if (found !== undefined) return found
  const interval = periodAround(window, at)
  LAST.set(window, [interval, ...known.slice(0, MOST_REMEMBERED - 1)])
  return interval
}

/**
 * Returns the period in which `at` lies. It is as long as the clock of the zone makes it. Where the clock is set back, an hour that
 * it shows twice is one period: the other side may count both by the same name. A day begins when the clock first shows it: where that
 * is set back over midnight, what it shows of the day before once more belongs to the day that has begun.
 */
export function periodAround({ period, zone }: CalendarWindow, at: number): Interval {
  const moment = Temporal.Instant.fromEpochMilliseconds(Math.floor(at / MILLISECOND)).toZonedDateTimeISO(zone)
  if (period === 'hour') return { from: startOfHour(moment), until: endOfHour(moment) }
  const date = moment.toPlainDate()
  const length = { days: period === 'day' ? 1 : 7 }
  const first = period === 'day' ? date : date.subtract({ days: date.dayOfWeek - 1 })
  const next = first.add(length)
  const [from, until] = [first, next].map((day) => microseconds(day.toZonedDateTime(zone))) as [
    number,
    number,
  ]
  if (at < until) return { from, until }
  return { from: until, until: microseconds(next.add(length).toZonedDateTime(zone)) }
}

/** The first moment from which on the clock shows that hour without a break. */
function startOfHour(moment: Temporal.ZonedDateTime): number {
  for (let first = moment; ; ) {
    const { minute, second, millisecond } = first
    const full = first.subtract({ minutes: minute, seconds: second, milliseconds: millisecond })
    // The clock was set forward into the middle of the hour.
    first = isSameHour(full, moment) ? full : full.getTimeZoneTransition('next')!
    const before = first.subtract({ milliseconds: 1 })
    if (!isSameHour(before, moment)) return microseconds(first)
    first = before
  }
}

function endOfHour(moment: Temporal.ZonedDateTime): number {
  for (let last = moment; ; ) {
    const { minute, second, millisecond } = last
    const full = last
      .subtract({ minutes: minute, seconds: second, milliseconds: millisecond })
      .add({ hours: 1 })
    const change = last.getTimeZoneTransition('next')
    last = change !== null && change.epochMilliseconds < full.epochMilliseconds ? change : full
    if (!isSameHour(last, moment)) return microseconds(last)
  }
}

function isSameHour(a: Temporal.ZonedDateTime, b: Temporal.ZonedDateTime): boolean {
  return a.hour === b.hour && a.toPlainDate().equals(b.toPlainDate())
}

function microseconds({ epochMilliseconds }: Temporal.ZonedDateTime): number {
  return epochMilliseconds * MILLISECOND
}
