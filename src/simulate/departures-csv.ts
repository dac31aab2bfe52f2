import { SECOND } from '../core/duration.ts'
import type { Arrival } from './arrival.ts'
import { csvField } from './csv-records.ts'
import type { Outcome } from './key-line.ts'

/** The columns of a departures file; one row per arrival, in the order of arrival. */
export const DEPARTURE_COLUMNS = [
  'offset_s',
  'key',
  'cost',
  'verdict',
  'position',
  'departs_s',
  'wait_s',
  'retry_after_s',
] as const

export const DEPARTURES_HEADER = `${DEPARTURE_COLUMNS.join(',')}\n`

/** Formats a row: seconds with 6 decimals, empty fields for absent values. */
export function formatDeparture(arrival: Arrival, outcome: Outcome): string {
  const { at, key, cost } = arrival
  const [verdict, position, departs, wait, retry] = outcome.accepted
    ? ['accepted', outcome.position, seconds(outcome.departsAt), seconds(outcome.departsAt - at), '']
    : ['rejected', '', '', '', seconds(outcome.retryAt - at)]
  return `${seconds(at)},${csvField(key)},${cost},${verdict},${position},${departs},${wait},${retry}\n`
}

function seconds(microseconds: number): string {
  return Number.isFinite(microseconds) ? (microseconds / SECOND).toFixed(6) : ''
}
