import type { BucketView } from '../../core/bucket-view.ts'
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
import { shardOf } from '../scripts/keys.ts'
import type { Store } from '../scripts/store.ts'
import { type FilterValues, filterValues } from './bucket-filter.ts'
import type { BucketViews } from './bucket-views.ts'
import { FillIndex } from './fill-index.ts'
import { walk } from './walk.ts'

interface Search {
  readonly limit: number
  readonly order: BucketOrder
  readonly filter: FilterValues
  /** Where the page before ended. */
  readonly after: Bookmark | undefined
  readonly now: number | undefined
}

interface Found {
  /** The places of the page, and one more if there is one. */
  readonly places: readonly Place[]
  readonly total: number
  readonly isAtLeast: boolean
  /** The time as of which they are sorted, in microseconds. */
  readonly at: number
}

/** Few buckets are in one of these states, and their fill says nothing about it. */
const RARE_STATES: readonly BucketQuery['state'][] = ['frozen', 'paused']

/**
 * Lists live buckets page by page. A search finds the places of a page: in the index by fill, else in a walk over all
 * records. Then the buckets in those places are read whole. All of it in bounded slices.
 */
export class BucketList {
  readonly #store: Store
  readonly #shards: number
  readonly #views: BucketViews
  readonly #fills: FillIndex

  constructor(store: Store, views: BucketViews) {
    this.#store = store
    this.#shards = store.tags.length
    this.#views = views
    this.#fills = new FillIndex(store)
  }

  /** @throws InvalidOptionsError */
  async page(query: BucketQuery, now?: number): Promise<BucketPage> {
    const { limit, state } = query
    const order = new BucketOrder(query.sort)
    const after = readCursor(query, order)
    const filter = filterValues(query)
    if (filter === undefined) return { buckets: [], total: 0 }
    const search = { limit, order, filter, after, now }
    const isIndexed = order.column === 'fill' && !RARE_STATES.includes(state)
    const found = (isIndexed ? await this.#byFill(search) : undefined) ?? (await this.#byWalk(search))
    const { total, isAtLeast, at } = found
    const places = found.places.slice(0, limit)
    const last = found.places.length > places.length ? places.at(-1) : undefined
    const seen = (after?.seen ?? 0) + places.length
    return {
      buckets: await this.#read(places, query, order, now),
      total,
      ...(isAtLeast && { isAtLeast }),
      ...(last !== undefined && { cursor: encodeCursor(order, { ...last, at, seen }) }),
    }
  }

  async #byFill({ limit, order, filter, after, now }: Search): Promise<Found | undefined> {
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

  async #byWalk({ limit, order, filter, after, now }: Search): Promise<Found> {
    const first = new FirstPlaces(order, after, limit + 1)
    let [total, at] = [0, order.isOfNow ? (after?.at ?? now) : 0]
    for (let shard = 0; shard < this.#shards; shard++) {
      const request = { order, filter, after, first, at }
      for await (const slice of walk(this.#store, shard, request, now)) {
        at ??= slice.now
        total += slice.matching
        for (const { value, key } of slice.places) first.offer(value, key)
      }
    }
    return { places: first.places, total, isAtLeast: false, at: at ?? 0 }
  }

  /** The buckets as they are now: one that changed since is left out if it no longer matches, and else is sorted anew. */
  async #read(
    places: readonly Place[],
    query: BucketQuery,
    order: BucketOrder,
    now?: number,
  ): Promise<BucketView[]> {
    const views: BucketView[] = []
    for (let shard = 0; shard < this.#shards; shard++) {
      const own = places.filter(({ key }) => shardOf(key, this.#shards) === shard)
      if (own.length === 0) continue
      const keys = own.map(({ key }) => key)
      const found = new Map<string, BucketView>()
      for (const view of await this.#views.ofKeys(shard, keys, now)) found.set(view.key, view)
      views.push(...found.values())
      if (order.column !== 'fill') continue
      const odd = own.filter(({ key, value }) => found.get(key)?.fill !== value).map(({ key }) => key)
      if (odd.length > 0) await this.#fills.mend(shard, odd)
    }
    const placed = views
      .filter((view) => isAskedFor(view, query))
      .map((view) => ({ view, key: view.key, value: order.valueOf(view) }))
    return placed.sort((a, b) => order.compare(a, b)).map(({ view }) => view)
  }
}
