import { bucketState } from '../../core/bucket-view.ts'
import { MILLISECOND } from '../../core/duration.ts'
import type { FamilyView } from '../../core/family-view.ts'
import { parseStoredLimit } from '../../core/limit.ts'
import { partsView, type Waits } from '../../line/parts-view.ts'
import { type Answer, flag, list, number, optional, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { partsRow, quotaOfHead } from './bucket-views.ts'

/** A total as families.lua answers it. Times are microseconds, infinite where there is none. */
const familyRow = row({
  path: text,
  pattern: text,
  limit: text,
  total: text,
  capacity: number,
  waiting: number,
  running: number,
  children: number,
  nextDeparture: number,
  ownDeparture: number,
  readyAt: number,
  frozenUntil: number,
  isPaused: flag,
  parts: optional(partsRow),
})

const familiesScript = defineScript(
  'families',
  import.meta.url,
  list(row({ now: number, looked: number, families: rest(list(familyRow)) })),
)

/** The most paths in one call; it may look at fewer of them when there is much to read. */
const MOST_PATHS = 100

/** Reads totals whole. */
export class FamilyViews {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Of these paths of a shard, the live totals. */
  async ofPaths(shard: number, paths: readonly string[], now?: number): Promise<FamilyView[]> {
    const found: FamilyView[] = []
    let from = 0
    while (from < paths.length) {
      const asked = paths.slice(from, from + MOST_PATHS)
      const reply = await this.#store.read(familiesScript, shard, asked, now)
      for (const family of reply.families) found.push(viewOf(family, reply.now))
      from += Math.max(1, reply.looked)
    }
    return found
  }
}

function viewOf(family: Answer<typeof familyRow>, now: number): FamilyView {
  const { path, pattern, total, capacity, waiting, running, children, isPaused } = family
  const { nextDeparture, frozenUntil, parts } = family
  const isFrozen = frozenUntil > now
  const limit = parseStoredLimit(family.limit, pattern)
  const head = waiting > 0 ? firstBelow(family) : undefined
  return {
    path,
    ...(total !== '' && { total }),
    pattern,
    limit: family.limit,
    state: bucketState(waiting, capacity, isPaused, isFrozen),
    waiting,
    capacity,
    fill: waiting / capacity,
    running,
    children,
    ...(Number.isFinite(nextDeparture) && { nextDepartureAt: nextDeparture / MILLISECOND }),
    ...(isFrozen && { frozenUntil: frozenUntil / MILLISECOND }),
    paused: isPaused,
    ...partsView(limit, parts?.quotas ?? [], parts?.taken ?? running, head, now),
  }
}

/** What keeps the first job below a total. */
function firstBelow(family: Answer<typeof familyRow>): Waits {
  const { path, ownDeparture: departsAt, readyAt, isPaused: paused, frozenUntil, parts } = family
  const quota = parts && quotaOfHead(parts, departsAt)
  // Nothing else keeps a job for ever that is ready below a total that is not paused.
  const isFull = departsAt === Number.POSITIVE_INFINITY && readyAt !== Number.POSITIVE_INFINITY
  return { path, ahead: 0, readyAt, departsAt, quota, paused, frozenUntil, isFull }
}
