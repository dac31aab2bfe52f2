import type { Limit } from './limit.ts'
import { cooledBy, spacing, warmedBy } from './warmth.ts'

/** One who waits: its cost, and, for a retry that backs off, the time before which it cannot depart. */
export interface Waiting {
  readonly cost: number
  readonly readyAt?: number | undefined
}

/** Where a look ahead along a line has come to: the slot of whoever is next, and the warmth of the bucket there. */
export interface Course {
  slot: number
  warmth: number
}

/** Those of a line that wait to be tried again after a failure; a freeze's are not among them. */
export interface Retries {
  readonly size: number
  /** Cost units of all of them. */
  readonly units: number
  /** How many of them depart before a newcomer if all are ready: at most one before each job of the line. */
  readonly gaps: number
  /** When the last of them is ready. */
  latest(): number
  /** By the time when they are ready. Only the first are asked for. */
  [Symbol.iterator](): Iterator<{ readonly cost: number; readonly readyAt: number }>
}

/** All that a verdict asks of a line. */
export interface WholeLine {
  /** Cost units of everyone in it. */
  readonly waiting: number
  /** Everyone in it, in the order of departure. Only the first are asked for. */
  readonly jobs: Iterable<Waiting>
  readonly retries?: Retries | undefined
}

/**
 * How many jobs a verdict looks at, one by one. Beyond, it reckons with sums: every retry departs before a newcomer, and a
 * refusal lasts until all but the last of the units that are missing have departed. Neither time is ever too early.
 */
const FARTHEST_LOOK = 100

/** Lets one more depart, if handlers are free. */
export function follow(course: Course, limit: Limit, { cost, readyAt = course.slot }: Waiting): void {
  const slot = Math.max(course.slot, readyAt)
  const warmth = cooledBy(course.warmth, slot - course.slot)
  const wait = spacing(limit, warmth, cost)
  course.slot = slot + wait
  course.warmth = warmedBy(limit, warmth, wait)
}

/**
 * When a newcomer departs, and how many retries depart before it: those that are ready by then, as far as retries get slots.
 * (A retry that becomes ready shortly before it may in truth have to let it pass. It is counted, so that no departure is
 * promised too early.)
 */
export function departureBehind({ waiting, retries }: WholeLine, { slot, warmth }: Course, limit: Limit) {
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
 * When `units` cost units of the line will have departed, if handlers are free. A head that is due and still waits shows
 * that none is; then nobody knows, and one interval is the honest guess.
 */
export function departureOf(
  units: number,
  { waiting, jobs, retries }: WholeLine,
  course: Course,
  limit: Limit,
  now: number,
): number {
  let open = units
  let looked = 0
  // Units that follow each other without a pause are counted at once, so that nothing is rounded between them.
  let together = 0
  // Of those who are not looked at, the units that wait for nothing but their slots.
  let others = waiting - (retries?.units ?? 0)
  const waitFor = (readyAt: number) => {
    if (readyAt <= course.slot + spacing(limit, course.warmth, together)) return
    follow(course, limit, { cost: together })
    follow(course, limit, { cost: 0, readyAt })
    together = 0
  }
  for (const { cost, readyAt } of jobs) {
    if (looked === FARTHEST_LOOK) {
      if (retries !== undefined && open > others) waitFor(retries.latest())
      together += open - 1
      break
    }
    looked++
    if (readyAt !== undefined) waitFor(readyAt)
    else others -= cost
    open -= cost
    if (open <= 0) break
    together += cost
  }
  follow(course, limit, { cost: together })
  return course.slot > now ? course.slot : now + spacing(limit, course.warmth, 1)
}
