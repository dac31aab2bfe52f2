import type { BucketView, Durability } from '../../core/job.ts'
import {
  type Bookmark,
  BucketOrder,
  encodeCursor,
  FirstPlaces,
  isAskedFor,
  type Place,
  readCursor,
} from '../../line/bucket-order.ts'
import type { BucketPage, BucketQuery } from '../../line/bucket-query.ts'
import { shardOf } from '../scripts/shard-of.ts'
import type { Store } from '../scripts/store.ts'
import { BucketWalks } from './bucket-walks.ts'
import { FillOrder } from './fill-order.ts'
import { type FilterValues, filterValues } from './query-values.ts'
import type { Views } from './views.ts'

/** Where the buckets of a page stand, and one more where there is one. */
interface Found {
  readonly places: readonly Place[]
  readonly total: number
  readonly isAtLeast: boolean
  /** The time at which they were sorted, in microseconds. */
  readonly at: number
}

/** Few are, and how full they are says nothing about it. */
const RARE_STATES: readonly BucketQuery['state'][] = ['frozen', 'paused']

/**
 * Pages of live buckets. First only places are looked for: by fill in the set that has them in order, else in a walk over
 * all records. Then the page's buckets are read whole. All of it in slices that are bounded, with rests where there are many.
 */
export class BucketLists {
  readonly #shards: number
  readonly #views: Views
  readonly #fills: FillOrder
  readonly #walks: BucketWalks

  constructor(store: Store, views: Views) {
    this.#shards = store.tags.length
    this.#views = views
    this.#fills = new FillOrder(store)
    this.#walks = new BucketWalks(store)
  }

  /** @throws InvalidOptionsError */
  async list(query: BucketQuery, durability: Durability, now?: number): Promise<BucketPage> {
    const order = new BucketOrder(query.sort)
    const after = readCursor(query, order)
    const filter = filterValues(query)
    if (filter === undefined) return { buckets: [], total: 0 }
    const isInOrder = order.column === 'fill' && !RARE_STATES.includes(query.state)
    const byFill = isInOrder ? await this.#byFill(query, order, filter, after, now) : undefined
    const { places, total, isAtLeast, at } = byFill ?? (await this.#byWalk(query, order, filter, after, now))
    const page = places.slice(0, query.limit)
    const last = places.length > page.length ? page.at(-1) : undefined
    const seen = (after?.seen ?? 0) + page.length
    return {
      buckets: await this.#look(page, query, order, durability, now),
      total,
      ...(isAtLeast && { isAtLeast }),
      ...(last !== undefined && { cursor: encodeCursor(order, { ...last, at, seen }) }),
    }
  }

  async #byFill(
    { limit }: BucketQuery,
    order: BucketOrder,
    filter: FilterValues,
    after: Bookmark | undefined,
    now?: number,
  ): Promise<Found | undefined> {
    const wanted = { after, wanted: limit + 1, isDown: order.isDescending }
    const first = new FirstPlaces(order, after, limit + 1)
    let [total, isAtLeast] = [filter.isPlain ? 0 : (after?.seen ?? 0), false]
    for (let shard = 0; shard < this.#shards; shard++) {
      const found = await this.#fills.first(shard, filter, wanted, now)
      if (found === undefined) return undefined
      for (const { value, key } of found.places) first.offer(value, key)
      total += filter.isPlain ? found.within : found.counted
      isAtLeast ||= !filter.isPlain && !found.isOver
    }
    return { places: first.places, total, isAtLeast, at: 0 }
  }

  async #byWalk(
    { limit }: BucketQuery,
    order: BucketOrder,
    filter: FilterValues,
    after: Bookmark | undefined,
    now?: number,
  ): Promise<Found> {
    const first = new FirstPlaces(order, after, limit + 1)
    let [total, at] = [0, order.isOfNow ? (after?.at ?? now) : 0]
    for (let shard = 0; shard < this.#shards; shard++) {
      for await (const { asked, places, now: told } of this.#walks.slices(
        shard,
        { order, filter, after, first, at },
        now,
      )) {
        at ??= told
        total += asked
        for (const { value, key } of places) first.offer(value, key)
      }
    }
    return { places: first.places, total, isAtLeast: false, at: at ?? 0 }
  }

  /** As they are now: one that changed since is left out if it is not asked for any more, and stands where it belongs. */
  async #look(
    page: readonly Place[],
    query: BucketQuery,
    order: BucketOrder,
    durability: Durability,
    now?: number,
  ): Promise<BucketView[]> {
    const views: BucketView[] = []
    for (let shard = 0; shard < this.#shards; shard++) {
      const own = page.filter(({ key }) => shardOf(key, this.#shards) === shard)
      if (own.length === 0) continue
      const found = new Map<string, BucketView>()
      for (const view of await this.#views.of(
        shard,
        own.map(({ key }) => key),
        durability,
        now,
      ))
        found.set(view.key, view)
      views.push(...found.values())
      if (order.column !== 'fill') continue
      const odd = own.filter(({ key, value }) => found.get(key)?.fill !== value)
      if (odd.length > 0)
        await this.#fills.mend(
          shard,
          odd.map(({ key }) => key),
        )
    }
    const placed = views
      .filter((view) => isAskedFor(view, query))
      .map((view) => ({ view, key: view.key, value: order.valueOf(view) }))
    return placed.sort((a, b) => order.compare(a, b)).map(({ view }) => view)
  }
}
