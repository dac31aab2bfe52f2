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

/** How far into a line a refusal looks; beyond, every cost unit counts as one interval, which is never too early. */
const FARTHEST_LOOK = 1_000

/** Lets one more depart, if handlers are free. */
export function follow(course: Course, limit: Limit, { cost, readyAt = course.slot }: Waiting): void {
  const slot = Math.max(course.slot, readyAt)
  const warmth = cooledBy(course.warmth, slot - course.slot)
  const wait = spacing(limit, warmth, cost)
  course.slot = slot + wait
  course.warmth = warmedBy(limit, warmth, wait)
}

/**
 * When `units` cost units of the line will have departed, if handlers are free. A head that is due and still waits
 * shows that none is; then nobody knows, and one interval is the honest guess.
 */
export function departureOf(
  units: number,
  course: Course,
  limit: Limit,
  now: number,
  line: Iterable<Waiting>,
): number {
  let open = units
  let looked = 0
  // Units that follow each other without a pause are counted at once, so that nothing is rounded between them.
  let together = 0
  for (const { cost, readyAt } of line) {
    if (readyAt !== undefined) {
      follow(course, limit, { cost: together })
      follow(course, limit, { cost: 0, readyAt })
      together = 0
    }
    open -= cost
    if (open <= 0) break
    together += cost
    if (++looked === FARTHEST_LOOK) {
      together += open
      break
    }
  }
  follow(course, limit, { cost: together })
  return course.slot > now ? course.slot : now + spacing(limit, course.warmth, 1)
}
