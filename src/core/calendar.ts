import { Temporal } from 'temporal-polyfill'
import { MILLISECOND } from './duration.ts'

/** A period of the calendar of one time zone: an hour, a day, or a week that begins on Monday (ISO 8601). */
export interface CalendarWindow {
  readonly period: Period
  /** A name of the IANA time zone database, such as `America/Los_Angeles`. */
  readonly zone: string
}

export const PERIODS = ['hour', 'day', 'week'] as const
export type Period = (typeof PERIODS)[number]

/** Whether the time zone is known here. */
export function isZone(name: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name)
    return true
  } catch {
    return false
  }
}

/** The period of each window that was asked for last: nearly all questions are about the same one. */
const LAST = new WeakMap<CalendarWindow, Interval[]>()
/** Those of now, of the next and of the last, and some that a forecast asks for. */
const MOST_REMEMBERED = 4

interface Interval {
  readonly from: number
  readonly until: number
}

/** Returns when the period ends in which `at` lies; both in microseconds since the epoch. */
export function endOfPeriod(window: CalendarWindow, at: number): number {
  const known = LAST.get(window) ?? []
  const found = known.find(({ from, until }) => from <= at && at < until)
  if (found !== undefined) return found.until
  const interval = periodAround(window, at)
  LAST.set(window, [interval, ...known.slice(0, MOST_REMEMBERED - 1)])
  return interval.until
}

/** Returns the period in which `at` lies. An hour or a day is as long as the clock of the zone makes it. */
export function periodAround({ period, zone }: CalendarWindow, at: number): Interval {
  const moment = Temporal.Instant.fromEpochMilliseconds(Math.floor(at / MILLISECOND)).toZonedDateTimeISO(zone)
  if (period === 'hour') {
    const from = moment.round({ smallestUnit: 'hour', roundingMode: 'floor' })
    return between(from, from.add({ hours: 1 }).round({ smallestUnit: 'hour', roundingMode: 'floor' }))
  }
  const date = moment.toPlainDate()
  const first = period === 'day' ? date : date.subtract({ days: date.dayOfWeek - 1 })
  const next = first.add(period === 'day' ? { days: 1 } : { days: 7 })
  return between(first.toZonedDateTime(zone), next.toZonedDateTime(zone))
}

function between(from: Temporal.ZonedDateTime, until: Temporal.ZonedDateTime): Interval {
  return { from: from.epochMilliseconds * MILLISECOND, until: until.epochMilliseconds * MILLISECOND }
}
