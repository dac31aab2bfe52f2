import type { FamilyView } from '../../core/family-view.ts'
import { BucketOrder, encodeCursor, FirstPlaces, type Place, readCursor } from '../../line/bucket-order.ts'
import { familyOrder, familyValue } from '../../line/family-order.ts'
import type { FamilyPage, FamilyQuery } from '../../line/family-query.ts'
import { list, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { FamilyViews } from './family-views.ts'
import { PacedSlices, SLICE_SIZE } from './paced-slices.ts'

const walkScript = defineScript(
  'family-walk',
  import.meta.url,
  list(row({ cursor: text, places: rest(row({ value: text, path: text })) })),
)

/** Lists live totals page by page: a walk in bounded slices finds the places of a page, and then the totals there are read whole. */
export class FamilyList {
  readonly #store: Store
  readonly #views: FamilyViews

  constructor(store: Store, views: FamilyViews) {
    this.#store = store
    this.#views = views
  }

  /** @throws InvalidOptionsError */
  async page(query: FamilyQuery, now?: number): Promise<FamilyPage> {
    const { limit, under } = query
    const order = familyOrder(query)
    const after = readCursor(query, order, 'families')
    const first = new FirstPlaces(order, after, limit + 1)
    // A scan may meet a total twice.
    const shards = under === undefined ? [...this.#store.tags.keys()] : [this.#store.shardOf(under)]
    let total = 0
    for (const shard of shards) {
      const seen = new Set<string>()
      for await (const slice of this.#walk(shard, order, under, now)) {
        for (const { value, key } of slice) {
          seen.add(key)
          first.offer(value, key)
        }
      }
      total += seen.size
    }
    const places = first.places.slice(0, limit)
    const last = first.places.length > places.length ? places.at(-1) : undefined
    const seen = (after?.seen ?? 0) + places.length
    return {
      families: await this.#read(places, order, now),
      total,
      ...(last !== undefined && { cursor: encodeCursor(order, { ...last, at: 0, seen }) }),
    }
  }

  /** All live totals, a slice at a time. Yields one that lives throughout at least once, and perhaps twice. */
  async *survey(): AsyncGenerator<FamilyView[]> {
    for (const shard of this.#store.tags.keys()) {
      for await (const places of this.#walk(shard, new BucketOrder('key'))) {
        const paths = places.map(({ key }) => key)
        yield await this.#views.ofPaths(shard, paths)
      }
    }
  }

  async *#walk(shard: number, order: BucketOrder, under?: string, now?: number): AsyncGenerator<Place[]> {
    const slices = new PacedSlices()
    const [head, column] = [under === undefined ? '' : `${under}/`, order.isText ? 'path' : order.column]
    let cursor = '0'
    do {
      const values = [cursor, SLICE_SIZE, head, column]
      const slice = await slices.next(() => this.#store.read(walkScript, shard, values, now))
      yield slice.places.map(({ value, path }) => ({
        value: order.isText ? value : Number(value),
        key: path,
      }))
      cursor = slice.cursor
    } while (cursor !== '0')
  }

  /** The totals as they are now, sorted anew. */
  async #read(places: readonly Place[], order: BucketOrder, now?: number): Promise<FamilyView[]> {
    const views: FamilyView[] = []
    for (const shard of this.#store.tags.keys()) {
      const paths = places.map(({ key }) => key).filter((path) => this.#store.shardOf(path) === shard)
      views.push(...(await this.#views.ofPaths(shard, paths, now)))
    }
    const placed = views.map((view) => ({ view, key: view.path, value: familyValue(order, view) }))
    return placed.sort((a, b) => order.compare(a, b)).map(({ view }) => view)
  }
}
