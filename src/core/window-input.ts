import { type CalendarWindow, isZoneName, PERIODS, type Period, zoneNamed } from './calendar.ts'
import { describe, quote } from './describe.ts'
import { DAY, parseDuration, SECOND } from './duration.ts'
import { InvalidLimitError } from './errors.ts'
import { isRolling, type Quota, type RollingWindow } from './quota.ts'

const LONGEST_WINDOW = 31 * DAY
const TOO_LONG = /\b(?:month|year)s?$/i

/** Reads the window of a quota; of a calendar, the time zone need not be known here. @throws InvalidLimitError */
export function readWindow(per: unknown, zone: unknown): RollingWindow | CalendarWindow {
  if (typeof per !== 'string') {
    throw new InvalidLimitError(
      `expected \`per\` of a quota to be a duration such as 'day', got: ${describe(per)}`,
    )
  }
  if (zone !== undefined) return readCalendar(per, zone)
  if (TOO_LONG.test(per)) {
    throw new InvalidLimitError(
      `expected the window of a quota to be from 1 second to 31 days, such as '31 days', got: ${quote(per)}`,
    )
  }
  const length = parseDuration(per)
  if (length >= SECOND && length <= LONGEST_WINDOW) return { length }
  throw new InvalidLimitError(
    `expected the window of a quota to be from 1 second to 31 days, got: ${quote(per)}`,
  )
}

function readCalendar(per: string, zone: unknown): CalendarWindow {
  const period = per.trim().toLowerCase()
  if (!isPeriod(period)) {
    throw new InvalidLimitError(
      `expected a quota in a time zone to be per hour, day or week, got: ${quote(per)}`,
    )
  }
  if (typeof zone !== 'string' || !isZoneName(zone)) throw noZone(zone)
  return { period, zone: zoneNamed(zone) ?? zone }
}

function noZone(got: unknown): InvalidLimitError {
  const text = typeof got === 'string' ? quote(got) : describe(got)
  return new InvalidLimitError(`expected a time zone such as America/Los_Angeles or UTC, got: ${text}`)
}

function isPeriod(text: string): text is Period {
  return PERIODS.some((period) => period === text)
}

/** The first time zone of the quotas that is not known here. */
export function unknownZone(quotas: readonly Quota[]): string | undefined {
  for (const { window } of quotas) {
    if (!isRolling(window) && zoneNamed(window.zone) === undefined) return window.zone
  }
  return undefined
}

/** @throws InvalidLimitError where the time zone of a quota is not known here */
export function checkZones(quotas: readonly Quota[]): void {
  const unknown = unknownZone(quotas)
  if (unknown !== undefined) throw noZone(unknown)
}
