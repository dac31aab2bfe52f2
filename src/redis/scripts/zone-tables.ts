import { clockChanges, zoneNamed } from '../../core/calendar.ts'
import { SECOND } from '../../core/duration.ts'
import { ZONE_BEFORE } from './prelude.ts'
import { word } from './reply.ts'
import { defineScript } from './script.ts'

const DAY = 86_400
/** A table goes on for so long: behind that, what Redis answers is an estimate. */
const AHEAD = 3_660 * DAY
/** Clocks are set twice a year. */
const MOST_CHANGES = 64
/** About so many tables fit into one short call. */
export const ZONES_PER_CALL = 20

/** Writes tables of time zones into a shard; see there which stay as they are. */
export const zonesScript = defineScript('zones', import.meta.url, word('ok'))

/** The version of the rules of time zones here, such as `2025b`. */
export const { tz: RULES = '0' } = process.versions

/** Of each zone, the table that was made last, and of which day it is. */
const made = new Map<string, { readonly day: number; readonly text: string }>()

/**
 * A zone and its table: when its clocks are set, as this process knows it, with the version of the rules of time zones. From it
 * scripts compute the periods of the zone: see lib/calendar.lua. Nothing for a zone that is not known here.
 *
 * @param now the time of Redis
 */
export function zoneTable(zone: string, now: number): readonly string[] {
  const day = Math.floor(now / SECOND / DAY)
  const last = made.get(zone)
  if (last?.day === day) return [zone, last.text]
  if (zoneNamed(zone) === undefined) return []
  const { from, until, offset, changes } = clockChanges(
    zone,
    day * DAY - ZONE_BEFORE,
    day * DAY + AHEAD,
    MOST_CHANGES,
  )
  const numbers = [from, until, offset, ...changes.flatMap((change) => [change.at, change.offset])]
  const text = `${RULES} ${numbers.join(' ')}`
  made.set(zone, { day, text })
  return [zone, text]
}
