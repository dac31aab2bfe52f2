import { INTERVAL_MS } from './products.ts'
import type { Sighting } from './record.ts'

/** As of velvet-rope by default, so that all are judged alike; milliseconds. */
const TOLERANCE_MS = 5

export interface Tally {
  readonly accepted: number
  /** Accepted, and no handler came to its end. */
  readonly lost: number
  /** Starts beyond the first of each job. */
  readonly again: number
  /** Starts that GCRA with the interval and the tolerance would refuse. */
  readonly early: number
  readonly smallestGapMs: number
  /** First starts of jobs that were accepted before another that had started by then. */
  readonly outOfOrder: number
  /** From the fault, or its end, to the first start that it had held back; undefined: it never came. */
  readonly recoveryMs: number | undefined
}

export function tally(sightings: readonly Sighting[], fault: { at: number; held: 'running' | 'any' }): Tally {
  const accepted = new Map<number, number>()
  const starts = sightings.filter(({ what }) => what === 'started')
  const ended = new Set<number>()
  for (const { what, id, at } of sightings) {
    if (what === 'accepted') accepted.set(id, at)
    if (what === 'ended') ended.add(id)
  }
  const firsts = new Map<number, number>()
  for (const { id, at } of starts) if (!firsts.has(id)) firsts.set(id, at)
  const gaps = starts.slice(1).map(({ at }, n) => at - starts[n]!.at)
  return {
    accepted: accepted.size,
    lost: [...accepted.keys()].filter((id) => !ended.has(id)).length,
    again: starts.length - firsts.size,
    early: earlyStarts(starts.map(({ at }) => at)),
    smallestGapMs: Math.min(...gaps),
    outOfOrder: overtaken([...firsts.keys()]),
    recoveryMs: recovery(sightings, fault),
  }
}

function earlyStarts(starts: readonly number[]): number {
  let theoretical = Number.NEGATIVE_INFINITY
  let early = 0
  for (const at of starts) {
    if (at < theoretical - TOLERANCE_MS) early += 1
    theoretical = Math.max(theoretical, at) + INTERVAL_MS
  }
  return early
}

/** Ids are numbers in the order of their acceptance; where two processes accept, each has every other number. */
function overtaken(firsts: readonly number[]): number {
  const highest = [-1, -1]
  let count = 0
  for (const id of firsts) {
    const line = id % 2
    if (id < highest[line]!) count += 1
    highest[line] = Math.max(highest[line]!, id)
  }
  return count
}

function recovery(
  sightings: readonly Sighting[],
  { at, held }: { at: number; held: 'running' | 'any' },
): number | undefined {
  const after = sightings.filter((one) => one.what === 'started' && one.at > at)
  if (held === 'any') return after[0] && after[0].at - at
  const before = sightings.filter((one) => one.at <= at)
  const isRunning = (id: number) =>
    before.some((one) => one.what === 'started' && one.id === id) &&
    !sightings.some((one) => one.what === 'ended' && one.id === id && one.at < at + 1)
  const again = after.find(({ id }) => isRunning(id))
  return again && again.at - at
}
