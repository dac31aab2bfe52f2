import { isWithin } from '../../../src/conformance/totals.ts'
import type { Random } from '../world/random.ts'
import { intervalOf, type JobPlan, type KeyPlan, type Plan, type TurnPlan } from './plan.ts'
import { unitsIn } from './set-plan.ts'

/** From one time to another; milliseconds. */
export interface Span {
  readonly from: number
  readonly until: number
}

/** Round trips until a worker that begins starts its first job, and from a request to a start; and what both take besides. */
const OPENING = 26
const HANDING = 6
const BESIDES_MS = 3
/** At least so long a job is under way; milliseconds. */
const SHORTEST = 1

type Work = Pick<Plan, 'keys' | 'totals' | 'jobs' | 'turns' | 'network'>

/**
 * When jobs and turns are under way, from their requests to their ends, about, if nothing goes wrong. In order, and apart from
 * each other. A fault at another time meets no job.
 */
export function busySpans({ keys, totals = [], jobs, turns, network: { there, back } }: Work): Span[] {
  const roundTrip = (there.least + there.jitter + back.least + back.jitter) / 1_000
  const spans = [...keys, ...totals].flatMap((key) => {
    const own = [...jobs, ...turns].filter((item) => item.key === key.key || isWithin(item.key, key.key))
    return lineSpans(key, own, roundTrip)
  })
  return united(spans)
}

/** Plays the line of one key, or of a family as if it were one: a slot for each, one after the other, unless the line is full. */
function lineSpans(plan: KeyPlan, items: readonly (JobPlan | TurnPlan)[], roundTrip: number): Span[] {
  const { capacity } = plan
  const interval = intervalOf(plan)
  const begun: Begun[] = []
  const inLine: { readonly leaves: number; readonly cost: number }[] = []
  let first = 0
  let waiting = 0
  let free = OPENING * roundTrip + BESIDES_MS
  return items
    .toSorted((a, b) => a.at - b.at)
    .map((item) => {
      const { at, cost } = item
      for (; first < inLine.length && inLine[first]!.leaves <= at; first++) waiting -= inLine[first]!.cost
      const answered = { from: at, until: at + roundTrip + SHORTEST }
      if (waiting + cost > capacity) return answered
      const starts = roomFor(plan, item, begun, Math.max(free, at + HANDING * roundTrip))
      const givesUp = at + patienceOf(item)
      inLine.push({ leaves: Math.min(starts, givesUp), cost })
      waiting += cost
      if (starts > givesUp) return { from: at, until: Math.max(givesUp, answered.until) }
      free = starts + cost * interval
      begun.push({ item, from: starts, until: starts + lengthOf(item) + roundTrip })
      return { from: at, until: Math.max(starts + lengthOf(item), answered.until) }
    })
}

/** A job or a turn from its start until its place is free; milliseconds. */
interface Begun extends Span {
  readonly item: JobPlan | TurnPlan
}

/** From then on every rolling quota and a place have room for it, behind those that have begun. */
function roomFor(
  { quotas = [], concurrency = Number.POSITIVE_INFINITY }: KeyPlan,
  item: JobPlan | TurnPlan,
  begun: readonly Begun[],
  from: number,
): number {
  const leaving = begun.map(({ until }) => until).sort((a, b) => b - a)
  let at = Math.max(from, leaving[concurrency - 1] ?? from)
  for (const quota of quotas) {
    const { amount, window } = quota
    if (typeof window === 'object') continue
    let used = unitsIn(quota, item)
    for (const other of begun.toReversed()) {
      if (other.from + window <= at) break
      used += unitsIn(quota, other.item)
      if (used > amount) {
        at = Math.max(at, other.from + window)
        break
      }
    }
  }
  return at
}

/** How long it waits for its slot at most; milliseconds. */
function patienceOf(item: JobPlan | TurnPlan): number {
  if ('attempts' in item) return item.deadline ?? Number.POSITIVE_INFINITY
  return Math.min(item.timeout ?? Number.POSITIVE_INFINITY, item.aborts ?? Number.POSITIVE_INFINITY)
}

/** How long its first attempt takes; milliseconds. */
function lengthOf(item: JobPlan | TurnPlan): number {
  if (!('attempts' in item)) {
    const { most = 0, release = most } = item.holds ?? {}
    return Math.max(SHORTEST, Math.min(most, release))
  }
  const { handler, timeout } = item
  const takes = handler.takes + handler.computes
  return Math.max(SHORTEST, handler.hangs ? (timeout ?? takes) : Math.min(takes, timeout ?? takes))
}

function united(spans: readonly Span[]): Span[] {
  const apart: Span[] = []
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1)
    if (last === undefined || span.from > last.until) apart.push(span)
    else apart[apart.length - 1] = { from: last.from, until: Math.max(last.until, span.until) }
  }
  return apart
}

/** Draws a moment of one of the spans, each as likely as any other, and says when that span is over. */
export function momentIn(
  random: Random,
  spans: readonly Span[],
): { readonly at: number; readonly until: number } {
  let left = random.next() * spans.reduce((sum, { from, until }) => sum + until - from, 0)
  for (const { from, until } of spans) {
    if (left < until - from) return { at: from + left, until }
    left -= until - from
  }
  const at = spans.at(-1)?.until ?? 0
  return { at, until: at }
}
