import { SECOND } from '../core/duration.ts'
import type { Arrival } from './arrival.ts'
import { csvField } from './csv-field.ts'

/** Begins a file of arrivals, as `readArrivals` reads it. */
export const ARRIVALS_HEADER = 'offset_s,key,cost\n'

/** One arrival: seconds with 6 decimals. */
export function formatArrival({ at, key, cost }: Arrival): string {
  return `${(at / SECOND).toFixed(6)},${csvField(key)},${cost}\n`
}
