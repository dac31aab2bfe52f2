import { MILLISECOND } from '../core/duration.ts'

/** From arrival to departure of accepted jobs, in milliseconds; null if there were none. */
export type WaitSummary = { readonly [name in 'p50' | 'p90' | 'p99' | 'max']: number | null }

/** @param waits microseconds, in any order */
export function summarizeWaits(waits: readonly number[]): WaitSummary {
  const sorted = Float64Array.from(waits).sort()
  return {
    p50: percentile(sorted, 0.5),
    p90: percentile(sorted, 0.9),
    p99: percentile(sorted, 0.99),
    max: percentile(sorted, 1),
  }
}

/** By nearest rank: a wait that actually occurred. Milliseconds, to the microsecond. */
function percentile(sorted: Float64Array, share: number): number | null {
  const wait = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
  return wait === undefined ? null : Math.round(wait) / MILLISECOND
}
