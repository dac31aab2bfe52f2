import { createHash } from 'node:crypto'

const SECOND_MS = 1_000
/** The tolerated rounding error of sums of fractions, in units and in seconds. */
export const ROUNDING = 1e-9
/** The largest Integer of a structured field. */
const LARGEST = 999_999_999_999_999
/** Characters of each field beyond which no total is added: a key may have a hundred of them, and proxies bound what they read. */
const LONGEST = 1_024

/** What the headers say about a bucket of a line or a meter, or about a total above it. */
export interface Quota {
  /** The pattern of the governing rule, or of the total. */
  readonly pattern: string
  readonly capacity: number
  /** The time in which one unit leaks. */
  readonly intervalMs: number
  /** Whole units that fit now; absent where that was not read. */
  readonly free?: number
  /** The time until the next unit fits; after a refusal, until the same request fits. Absent where it is not known. */
  readonly waitMs?: number
  /** The further parts of the limit. */
  readonly parts?: readonly Part[]
}

/** A quota of a limit, or what may run at once, as a policy of its own. */
export interface Part {
  /** Beside the pattern. */
  readonly name: string
  readonly amount: number
  /** Absent where nothing is counted by time. */
  readonly windowMs?: number
  /** Absent: cost units. */
  readonly unit?: string | undefined
  /** What is left now; absent where it is not known. */
  readonly left?: number
  /** The time until a meter has room for another fill, where it has none now. */
  readonly waitMs?: number
}

/**
 * `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): the governing pattern; `q` how many
 * units it holds, `w` the seconds in which all of them leak; `r` the units that are free, `t` the seconds until the next
 * one is. After a refusal `t` is the time after which the same request fits. Each quota of a limit, and what may run at once, is a
 * further policy, with its unit as `qu`: `r` is what has not started in its window. Of a line it has no `t`: the jobs that wait take the
 * room first, so that a time at which a quota has some would be too early for another job.
 *
 * Totals above the key are policies of the same kind, under their own patterns. Of many, those are left out that do not fit into 1,024
 * characters, what has least left first.
 */
export function rateLimitHeaders(governing: Quota, totals: readonly Quota[] = []) {
  const quotas = [governing, ...fitting(totals, fieldsOf([governing]))]
  return fieldsOf(quotas)
}

function fieldsOf(quotas: readonly Quota[]) {
  return {
    'ratelimit-policy': quotas.flatMap(policiesOf).join(', '),
    ratelimit: quotas.flatMap(freeOf).join(', '),
  }
}

/** The totals that fit behind these fields, in their order. */
function fitting(totals: readonly Quota[], fields: ReturnType<typeof fieldsOf>): Quota[] {
  const kept = new Set<Quota>()
  let [policies, free] = [fields['ratelimit-policy'].length, fields.ratelimit.length]
  for (const total of totals.toSorted((one, other) => partLeft(one) - partLeft(other))) {
    const more = fieldsOf([total])
    const [longer, longerFree] = [
      policies + more['ratelimit-policy'].length + 2,
      free + more.ratelimit.length + 2,
    ]
    if (Math.max(longer, longerFree) > LONGEST) continue
    kept.add(total)
    policies = longer
    free = longerFree
  }
  return totals.filter((total) => kept.has(total))
}

/** The part that is left of what has least left; 1 where nothing was read. */
function partLeft({ free, capacity, parts = [] }: Quota): number {
  const line = free === undefined ? 1 : free / capacity
  return Math.min(line, ...parts.map(({ left, amount }) => (left === undefined ? 1 : left / amount)))
}

function policiesOf({ pattern, capacity, intervalMs, parts = [] }: Quota): string[] {
  const name = fieldString(policyName(pattern))
  const line = `${name};q=${integer(capacity)};w=${seconds(capacity * intervalMs)}`
  return [line, ...parts.map((part) => policyOf(pattern, part))]
}

function freeOf({ pattern, free, waitMs, parts = [] }: Quota): string[] {
  const name = fieldString(policyName(pattern))
  const line = free === undefined ? [] : [`${name};r=${integer(free)}${waitField(waitMs)}`]
  return [...line, ...parts.flatMap((part) => leftOf(pattern, part) ?? [])]
}

function policyOf(pattern: string, { name, amount, windowMs, unit }: Part): string {
  const window = windowMs === undefined ? '' : `;w=${seconds(windowMs)}`
  return `${nameOf(pattern, name)};q=${integer(amount)}${window}${unitField(unit)}`
}

function leftOf(pattern: string, { name, unit, left, waitMs }: Part): string | undefined {
  if (left === undefined) return undefined
  return `${nameOf(pattern, name)};r=${integer(left)}${waitField(waitMs)}${unitField(unit)}`
}

function waitField(waitMs: number | undefined): string {
  return waitMs === undefined ? '' : `;t=${seconds(waitMs)}`
}

function nameOf(pattern: string, part: string): string {
  return fieldString(partName(pattern, part))
}

/** The name of a further part of the limit of the pattern. */
export function partName(pattern: string, part: string): string {
  return `${policyName(pattern)} ${part}`
}

function unitField(unit: string | undefined): string {
  return unit === undefined ? '' : `;qu=${fieldString(unit)}`
}

/** The value of `Retry-After`: whole seconds, at least one. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, seconds(retryAfterMs))
}

/** The pattern, or its digest where the pattern is not ASCII and cannot stand in a header. */
export function policyName(pattern: string): string {
  if (/^[ -~]*$/.test(pattern)) return pattern
  return `sha256-${createHash('sha256').update(pattern).digest('hex').slice(0, 16)}`
}

/** Writes a String of a structured field (RFC 9651). */
function fieldString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** Whole seconds, rounded up; 3 x 333.3 ms are one. */
function seconds(ms: number): number {
  return integer(Math.ceil(ms / SECOND_MS - ROUNDING))
}

function integer(value: number): number {
  return Math.min(LARGEST, value)
}
