import { SECOND } from '../core/duration.ts'
import { formatCostsText } from '../line/costs-text.ts'
import type { Arrival } from './arrival.ts'
import { csvField } from './csv-records.ts'

/** The header of a file of arrivals for `readArrivals`. */
export const ARRIVALS_HEADER = 'offset_s,key,cost,costs\n'
/** The header of files from before named costs were recorded. */
export const FORMER_HEADER = 'offset_s,key,cost\n'

/** Formats an arrival: seconds with 6 decimals; what it counts in named units is one field, `tokens=1200`, empty for none. */
export function formatArrival({ at, key, cost, costs }: Arrival): string {
  return `${(at / SECOND).toFixed(6)},${csvField(key)},${cost},${csvField(formatCostsText(costs))}\n`
}

/** The last field of a line: neither units nor amounts have quotes in them, and no field has a line end. */
const COSTS_FIELD = /,(?:"[^"\n]*"|[^",\n]*)\n/g

/** Formatted arrivals as a file with the former header has them. */
export function inFormerForm(lines: string): string {
  return lines.replace(COSTS_FIELD, '\n')
}
