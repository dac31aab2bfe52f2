/**
 * How the machines beside a real Redis are run: the same inputs each time, or as many others by chance as STORE_RUNS says.
 * A difference in a rare error message must not decide whether a change is good.
 */
export function storeRuns(numRuns: number): { numRuns: number; seed?: number } {
  const wanted = process.env['STORE_RUNS']
  return wanted === undefined ? { numRuns, seed: 1 } : { numRuns: Number(wanted) }
}
