import { GRANTED_AHEAD } from '../history-file.ts'
import { type Bounds, type Finding, ms, type QuotaBound, type Start, type Testimony } from './testimony.ts'

/** The times of two readings are whole nanoseconds and become doubles; microseconds. */
const ROUNDING = 0.01

type Seen = Pick<Testimony, 'losses' | 'settles' | 'lag' | 'ends'>

/**
 * The parts of a limit beside its pace, counted anew from what handlers saw: at each start all that started within the window of
 * a quota is added up, and all handlers are counted that surely had a place. What the store may have forgotten counts nothing.
 */
export function judgeSet(
  key: string,
  starts: readonly Start[],
  { quotas = [], concurrency = Number.POSITIVE_INFINITY }: Bounds,
  seen: Seen,
): Finding[] {
  const back = Math.max(Number.NEGATIVE_INFINITY, ...seen.losses.map(({ to }) => to + GRANTED_AHEAD))
  const known = starts.filter(({ at }) => at > back).toSorted((a, b) => a.at - b.at)
  return [
    ...quotas.flatMap((quota) => judgeQuota(key, known, quota, seen)),
    ...judgePlaces(key, known, concurrency),
    ...judgeSettling(key, starts, seen),
  ]
}

function judgeQuota(key: string, starts: readonly Start[], quota: QuotaBound, seen: Seen): Finding[] {
  const { amount, unit = 'units', window } = quota
  if (!('length' in window)) return []
  const findings: Finding[] = []
  let first = 0
  for (const [index, start] of starts.entries()) {
    while (starts[first]!.at <= start.at - window.length + ROUNDING) first += 1
    const before = starts.slice(first, index)
    const used = before.reduce((sum, one) => sum + countedAt(one, quota, start.at, seen), 0)
    const units = estimateOf(start, quota)
    if (used === 0 || used + units <= amount) continue
    const message =
      `key "${key}": with "${start.id}" at ${ms(start.at)}, ${used + units} ${unit} started within ${ms(window.length)}, ` +
      `${used} of them in the ${before.length} starts since ${ms(before[0]!.at)}, and the quota has ${amount}`
    findings.push({ kind: 'over a quota', at: start.at, key, id: start.id, message })
  }
  return findings
}

function estimateOf({ cost, costs }: Start, { unit, each = 0 }: QuotaBound): number {
  return unit === undefined ? cost : (costs?.[unit] ?? each)
}

/** The least that the start can count at `at`: of what it settled, the line may not have heard, or only that. */
function countedAt(start: Start, quota: QuotaBound, at: number, { settles = [], lag }: Seen): number {
  const estimate = estimateOf(start, quota)
  const { unit } = quota
  if (unit === undefined) return estimate
  let least = estimate
  for (const { id, fence, from, to, amounts, answer } of settles) {
    const said = amounts[unit]
    if (id !== start.id || fence !== start.fence || said === undefined || answer === false || at < from)
      continue
    if (answer === true && (said < estimate || at >= to + lag)) return said
    least = Math.min(least, said)
  }
  return least
}

function judgePlaces(key: string, starts: readonly Start[], most: number): Finding[] {
  const findings: Finding[] = []
  if (most === Number.POSITIVE_INFINITY) return findings
  let running: readonly Start[] = []
  for (const start of starts) {
    running = running.filter(
      ({ id, until = Number.POSITIVE_INFINITY }) => id !== start.id && until > start.at,
    )
    running = [...running, start]
    if (running.length <= most) continue
    const message = `key "${key}": with "${start.id}" at ${ms(start.at)}, ${running.length} had a place, and the limit has ${most}: ${running.map(({ id, at }) => `"${id}" since ${ms(at)}`).join(', ')}`
    findings.push({ kind: 'too many at once', at: start.at, key, id: start.id, message })
  }
  return findings
}

/** A start is settled once, and only before its job has ended or another start has its fence. */
function judgeSettling(
  key: string,
  starts: readonly Start[],
  { settles = [], ends, losses }: Seen,
): Finding[] {
  const findings: Finding[] = []
  const settled = new Set<string>()
  for (const { id, fence, from, answer } of settles) {
    if (answer !== true || losses.length > 0 || !starts.some((start) => start.id === id)) continue
    const name = `${id} ${fence}`
    const later = starts.find((start) => start.id === id && (start.fence ?? 0) > fence && start.at < from)
    const end = ends.find((end) => end.id === id && end.seenAt < from)
    const why = settled.has(name)
      ? 'and had been settled before'
      : later !== undefined
        ? `and the job had started again at ${ms(later.at)}`
        : end !== undefined && `and the job had ended by ${ms(end.seenAt)}`
    settled.add(name)
    if (why === undefined || why === false) continue
    const message = `key "${key}": "${id}" settled its start ${fence} at ${ms(from)}, ${why}`
    findings.push({ kind: 'settled wrongly', at: from, key, id, message })
  }
  return findings
}
