import { type Bounds, type Finding, ms, type Start } from './testimony.ts'

/** The times of two readings are whole nanoseconds and become doubles; microseconds. */
const ROUNDING = 0.01

/**
 * Starts of one key, against the generic cell rate algorithm as its standard defines it (ITU-T I.371, virtual scheduling): a start
 * conforms when it is no earlier than its theoretical time less the tolerance.
 */
export function judgeSpacing(
  key: string,
  starts: readonly Start[],
  { interval, tolerance }: Bounds,
): Finding[] {
  const findings: Finding[] = []
  let theoretical = Number.NEGATIVE_INFINITY
  let before: Start | undefined
  for (const start of starts.toSorted((a, b) => a.at - b.at)) {
    const early = theoretical - tolerance - start.at
    if (early > ROUNDING && before !== undefined) {
      const message =
        `key "${key}": the handler of "${start.id}" started ${ms(start.at - before.at)} after that of "${before.id}", ` +
        `${ms(early)} too early for an interval of ${ms(interval)} and a tolerance of ${ms(tolerance)}`
      findings.push({ kind: 'too early', at: start.at, key, id: start.id, message })
    }
    theoretical = Math.max(theoretical, start.at) + interval * start.cost
    before = start
  }
  return findings
}
