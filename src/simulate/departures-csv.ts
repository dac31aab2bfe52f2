import { quote } from '../core/describe.ts'
import { SECOND } from '../core/duration.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import type { Arrival } from './arrival.ts'
import { csvField } from './csv-records.ts'
import type { Outcome } from './key-line.ts'

/** The columns of a departures file; one row per arrival, in the order of arrival. */
const COLUMNS = [
  'offset_s',
  'key',
  'cost',
  'verdict',
  'position',
  'departs_s',
  'wait_s',
  'retry_after_s',
] as const

/** The column, or property, with the named costs of a row; no unit may have this name. */
export const COSTS = 'costs'

/** What a file of departures may say beside columns of units; these names mean the same where a unit has one of them. */
export const DEPARTURE_NAMES: ReadonlySet<string> = new Set([...COLUMNS, COSTS, 'ends_s', 'settled_s'])

/** Further columns, for limits of several parts. */
export interface FurtherColumns {
  /** The units of quotas: what the arrival named. Default: none. */
  readonly units?: readonly string[]
  /** How long handlers take, in microseconds: then a row says when its handler ends. */
  readonly handlerTime?: number | undefined
}

/** @throws InvalidOptionsError for a unit with the name of a column: a file would have two columns of that name */
export function checkColumnsOf(units: readonly string[]): void {
  const clash = units.find((unit) => DEPARTURE_NAMES.has(unit))
  if (clash === undefined) return
  throw new InvalidOptionsError(
    `--out: expected units with other names than the columns of the file (${[...DEPARTURE_NAMES].join(', ')}), got: ${quote(clash)}`,
  )
}

export function departuresHeader({ units = [], handlerTime }: FurtherColumns = {}): string {
  return `${[...COLUMNS, ...units, ...(handlerTime === undefined ? [] : ['ends_s'])].join(',')}\n`
}

/** Formats a row: seconds with 6 decimals, empty fields for absent values. */
export function formatDeparture(
  arrival: Arrival,
  outcome: Outcome,
  { units = [], handlerTime }: FurtherColumns = {},
): string {
  const { at, key, cost, costs } = arrival
  const fields = outcome.accepted
    ? ['accepted', outcome.position, seconds(outcome.departsAt), seconds(outcome.departsAt - at), '']
    : ['rejected', '', '', '', seconds(outcome.retryAt - at)]
  const named = units.map((unit) => costs?.[unit] ?? '')
  const end = outcome.accepted ? seconds(outcome.departsAt + (handlerTime ?? 0)) : ''
  const ends = handlerTime === undefined ? [] : [end]
  return `${[seconds(at), csvField(key), cost, ...fields, ...named, ...ends].join(',')}\n`
}

function seconds(microseconds: number): string {
  return Number.isFinite(microseconds) ? (microseconds / SECOND).toFixed(6) : ''
}
