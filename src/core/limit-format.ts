import { formatDuration, MILLISECOND } from './duration.ts'
import type { Limit } from './limit.ts'
import { defaultTolerance } from './limit-parts.ts'
import { formatQuota } from './quota-input.ts'
import { formatRate } from './rate.ts'

/** By limit: a page of buckets and a change of the rule book write the same ones again and again. */
const TEXTS = new WeakMap<Limit, string>()

/** Formats a limit so that `parseLimit` returns the same one. */
export function formatLimit(limit: Limit): string {
  const known = TEXTS.get(limit)
  if (known !== undefined) return known
  const text = textOf(limit)
  TEXTS.set(limit, text)
  return text
}

function textOf({
  capacity,
  rate,
  interval,
  tolerance,
  warmUp,
  coldRate,
  quotas,
  concurrency,
  weight,
  isTotal,
}: Limit): string {
  // A short interval must name its tolerance.
  const mayBeDefault = isTotal || interval >= MILLISECOND
  const isDefault = mayBeDefault && tolerance === defaultTolerance(interval, isTotal)
  const parts = [`${capacity}`, formatRate(rate)]
  if (!isDefault) parts.push(`tolerance ${tolerance === 0 ? 0 : formatDuration(tolerance)}`)
  if (warmUp > 0) {
    const from = coldRate === undefined ? '' : ` from ${formatRate(coldRate)}`
    parts.push(`warm-up ${formatDuration(warmUp)}${from}`)
  }
  parts.push(...quotas.map(formatQuota))
  if (concurrency < Number.POSITIVE_INFINITY) parts.push(`${concurrency} at once`)
  if (weight !== 1) parts.push(`weight ${weight}`)
  return parts.join(', ')
}
