import { type BucketView, bucketState, type Durability } from '../../core/bucket-view.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { parseStoredLimit } from '../../core/limit.ts'
import { partsView, type Waits } from '../../line/parts-view.ts'
import { type Answer, flag, list, number, optional, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'

export const partsRow = list(
  row({
    taken: number,
    heldBy: number,
    units: number,
    needed: number,
    used: number,
    quotas: rest(row({ used: number, roomAt: number })),
  }),
)

/** A bucket as `view_of` in scripts/lib/view.lua answers it. Times are microseconds, infinite where there is none. */
const bucketRow = row({
  key: text,
  pattern: text,
  limit: text,
  capacity: number,
  waiting: number,
  jobs: number,
  retrying: number,
  running: number,
  nextDeparture: number,
  frozenUntil: number,
  isPaused: flag,
  lastStart: number,
  firstAdmission: number,
  lastAdmission: number,
  /** The total right above it, or '', and when those above it let its next job go. */
  total: text,
  aboveAt: number,
  /** Where the limit has more than a pace: the places that are taken, the quota that holds the head, and what its quotas count. */
  parts: optional(partsRow),
})

const inspectScript = defineScript(
  'inspect',
  import.meta.url,
  list(row({ now: number, bucket: optional(list(bucketRow)) })),
)
const bucketsScript = defineScript(
  'buckets',
  import.meta.url,
  list(row({ now: number, looked: number, buckets: rest(list(bucketRow)) })),
)
const surveyScript = defineScript(
  'survey',
  import.meta.url,
  list(row({ now: number, cursor: text, buckets: list(rest(list(bucketRow))), unread: list(rest(text)) })),
)

/** The most keys in one call; it may look at fewer of them when there is much to read. */
const MOST_KEYS = 100

/** Reads buckets whole. */
export class BucketViews {
  readonly #store: Store
  readonly #durability: () => Durability

  constructor(store: Store, durability: () => Durability) {
    this.#store = store
    this.#durability = durability
  }

  async inspect(key: string, now?: number): Promise<BucketView | undefined> {
    const shard = this.#store.shardOf(key)
    const reply = await this.#store.read(inspectScript, shard, [key], now)
    return reply.bucket && this.#view(reply.bucket, reply.now)
  }

  /** Of these keys of a shard, the live buckets. */
  async ofKeys(shard: number, keys: readonly string[], now?: number): Promise<BucketView[]> {
    const found: BucketView[] = []
    let from = 0
    while (from < keys.length) {
      const asked = keys.slice(from, from + MOST_KEYS)
      const reply = await this.#store.read(bucketsScript, shard, asked, now)
      for (const bucket of reply.buckets) found.push(this.#view(bucket, reply.now))
      from += Math.max(1, reply.looked)
    }
    return found
  }

  /** All live buckets, about 100 at a time. Yields one that lives throughout at least once, and perhaps twice. */
  async *survey(): AsyncGenerator<BucketView[]> {
    for (const shard of this.#store.tags.keys()) {
      let cursor = '0'
      do {
        const reply = await this.#store.read(surveyScript, shard, [cursor])
        const found = reply.buckets.map((bucket) => this.#view(bucket, reply.now))
        yield [...found, ...(await this.ofKeys(shard, reply.unread))]
        cursor = reply.cursor
      } while (cursor !== '0')
    }
  }

  #view(bucket: Answer<typeof bucketRow>, now: number): BucketView {
    const { key, pattern, limit, capacity, waiting, jobs, retrying, running, isPaused } = bucket
    const { frozenUntil, firstAdmission, total, parts } = bucket
    const nextDeparture = Math.max(bucket.nextDeparture, bucket.aboveAt)
    const isFrozen = frozenUntil > now
    const lastUse = Math.max(bucket.lastStart, bucket.lastAdmission)
    return {
      key,
      pattern,
      limit,
      state: bucketState(waiting, capacity, isPaused, isFrozen),
      waiting,
      capacity,
      fill: waiting / capacity,
      jobs,
      retrying,
      running,
      ...(total !== '' && { total }),
      ...(Number.isFinite(nextDeparture) && { nextDepartureAt: nextDeparture / MILLISECOND }),
      oldestWaitMs: Math.max(0, now - firstAdmission) / MILLISECOND,
      ...(Number.isFinite(firstAdmission) && { waitingSince: firstAdmission / MILLISECOND }),
      ...(isFrozen && { frozenUntil: frozenUntil / MILLISECOND }),
      paused: isPaused,
      ...(parts && partsView(parseStoredLimit(limit), parts.quotas, parts.taken, headOf(bucket, parts), now)),
      ...(Number.isFinite(lastUse) && { lastUsedAt: lastUse / MILLISECOND }),
      durability: this.#durability(),
    }
  }
}

function headOf(
  { jobs, retrying, nextDeparture: departsAt, isPaused: paused, frozenUntil }: Answer<typeof bucketRow>,
  parts: Answer<typeof partsRow>,
): Waits | undefined {
  if (jobs + retrying === 0) return undefined
  const quota = quotaOfHead(parts, departsAt)
  // Nothing else keeps a line for ever that is not paused.
  const isFull = departsAt === Number.POSITIVE_INFINITY
  return { ahead: 0, departsAt, quota, paused, frozenUntil, isFull, backsOff: jobs === 0 }
}

/** The quota that keeps the first job until it departs. */
export function quotaOfHead(
  { heldBy, units, needed, used }: Answer<typeof partsRow>,
  until: number,
): Waits['quota'] {
  return heldBy < 0 ? undefined : { index: heldBy, until, units, needed, used, isOwn: true }
}
