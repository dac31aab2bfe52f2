import type { Limit } from './limit.ts'
import { cooledBy, spacing, warmedBy } from './warmth.ts'

/** A waiting job: its cost, and, for a retry that backs off, the time before which it cannot depart. */
export interface WaitingJob {
  readonly cost: number
  readonly readyAt?: number | undefined
}

/**
 * The point that a projection along the line has reached: the slot of the next job, and the warmth of the bucket there.
 */
export interface Projection {
  slot: number
  warmth: number
}

/** The jobs of a line that wait for a retry after a failure; jobs returned by a freeze are not among them. */
export interface Retries {
  readonly size: number
  /** Cost units of all of them. */
  readonly units: number
  /** How many of them depart before a new job if all are ready: at most one before each job in the line. */
  readonly gaps: number
  /** When the last of them is ready. */
  latest(): number
  /** In the order in which they become ready. Only the first are read. */
  [Symbol.iterator](): Iterator<{ readonly cost: number; readonly readyAt: number }>
}

/** What a verdict needs to know about a line. */
export interface WholeLine {
  /** Cost units of all its jobs. */
  readonly waiting: number
  /** How many they are; absent: that is not known. */
  readonly size?: number | undefined
  /** Its jobs, in the order of departure. Only the first are read. */
  readonly jobs: Iterable<WaitingJob>
  readonly retries?: Retries | undefined
}

/**
 * How many jobs a verdict looks at, one by one. Beyond that it uses sums: all retries are assumed to depart before a
 * new job, and a rejection lasts until all but the last of the missing units have departed. Neither time is ever too
 * early.
 */
export const FARTHEST_LOOK = 100

/** Advances the projection past one job, assuming that handlers are free. */
export function advance(
  projection: Projection,
  limit: Limit,
  { cost, readyAt = projection.slot }: WaitingJob,
): void {
  const slot = Math.max(projection.slot, readyAt)
  const warmth = cooledBy(projection.warmth, slot - projection.slot)
  const wait = spacing(limit, warmth, cost)
  projection.slot = slot + wait
  projection.warmth = warmedBy(limit, warmth, wait)
}

/**
 * Returns when a new job departs, and how many retries depart before it: those that are ready by then, as far as
 * retries get slots. (A retry that becomes ready shortly before that may in fact depart after it. It is counted, so
 * that no departure is promised too early.)
 */
export function departureBehind({ waiting, retries }: WholeLine, { slot, warmth }: Projection, limit: Limit) {
  const after = (units: number) => slot + spacing(limit, warmth, units)
  if (retries === undefined) return { departsAt: after(waiting), retriesAhead: 0 }
  let units = waiting - retries.units
  let departsAt = after(units)
  let retriesAhead = 0
  for (const { cost, readyAt } of retries) {
    if (retriesAhead === retries.gaps) break
    if (retriesAhead === FARTHEST_LOOK) {
      return { departsAt: after(waiting), retriesAhead: Math.min(retries.gaps, retries.size) }
    }
    if (readyAt > departsAt) departsAt = after(units)
    if (readyAt > departsAt) break
    units += cost
    retriesAhead++
  }
  return { departsAt: after(units), retriesAhead }
}

/**
 * Returns when `units` cost units of the line will have departed, if handlers are free, and whether that is exact: not
 * where more jobs decide about it than it looks at. If the first job is due and still waits, no handler is free; the
 * time is then a guess of one interval.
 */
export function departureOf(
  units: number,
  { waiting, size, jobs, retries }: WholeLine,
  projection: Projection,
  limit: Limit,
  now: number,
): { readonly at: number; readonly isExact: boolean } {
  let open = units
  let isExact = true
  let looked = 0
  // Units that depart one after the other without a pause are added up first, so that nothing is rounded between them.
  let together = 0
  // Of the jobs not looked at, the units that wait only for their slots.
  let others = waiting - (retries?.units ?? 0)
  // Of jobs that cost 1 each, the order does not matter, and no retry is waited for where enough others depart.
  const isEven = size === waiting && units <= others
  const waitFor = (readyAt: number) => {
    if (readyAt <= projection.slot + spacing(limit, projection.warmth, together)) return
    advance(projection, limit, { cost: together })
    advance(projection, limit, { cost: 0, readyAt })
    together = 0
  }
  for (const { cost, readyAt } of jobs) {
    if (looked === FARTHEST_LOOK) {
      if (retries !== undefined && open > others) waitFor(retries.latest())
      together += open - 1
      isExact = isEven || (retries === undefined && size !== undefined && others === size - looked)
      break
    }
    looked++
    if (readyAt !== undefined) waitFor(readyAt)
    else others -= cost
    open -= cost
    if (open <= 0) break
    together += cost
  }
  advance(projection, limit, { cost: together })
  const at = projection.slot > now ? projection.slot : now + spacing(limit, projection.warmth, 1)
  return { at, isExact }
}
