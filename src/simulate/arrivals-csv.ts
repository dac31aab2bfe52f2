import { SECOND } from '../core/duration.ts'
import type { Arrival } from './arrival.ts'
import { csvField } from './csv-records.ts'

/** The header of a file of arrivals for `readArrivals`. */
export const ARRIVALS_HEADER = 'offset_s,key,cost\n'

/** Formats an arrival: seconds with 6 decimals. */
export function formatArrival({ at, key, cost }: Arrival): string {
  return `${(at / SECOND).toFixed(6)},${csvField(key)},${cost}\n`
}
