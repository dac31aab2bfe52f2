import type { BucketOrder, FirstPlaces, Place } from '../../line/bucket-order.ts'
import { list, number, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { FilterValues } from './bucket-filter.ts'
import { PacedSlices, SLICE_SIZE } from './paced-slices.ts'

const walkScript = defineScript(
  'walk',
  import.meta.url,
  list(
    row({
      now: number,
      cursor: text,
      unread: list(rest(text)),
      matching: number,
      places: rest(row({ value: text, key: text })),
    }),
  ),
)

export interface WalkRequest {
  readonly order: BucketOrder
  readonly filter: FilterValues
  readonly after: Place | undefined
  /** What was found so far: places behind the last of it are left out. */
  readonly first: FirstPlaces
  /** The time of the values, in microseconds; undefined: now. */
  readonly at: number | undefined
}

interface Slice {
  /** How many of its buckets the filter asks for. */
  readonly matching: number
  readonly places: readonly Place[]
  readonly now: number
}

/** Walks over all live buckets of a shard by their records alone, and yields the places that are asked for; one perhaps twice. */
export async function* walk(
  store: Store,
  shard: number,
  { order, filter, after, first, at }: WalkRequest,
  now?: number,
): AsyncGenerator<Slice> {
  const slices = new PacedSlices()
  const direction = order.isDescending ? 'down' : 'up'
  let [cursor, sortedAt] = ['0', at]
  // A slice in which many jobs have to be looked at leaves some of its buckets to the next call.
  let unread: readonly string[] = []
  do {
    const bounds = [...placeValues(after), ...placeValues(first.last)]
    const from = unread.length > 0 ? ['', 0] : [cursor, SLICE_SIZE]
    const values = [...from, ...filter.values, order.column, direction, sortedAt ?? '', ...bounds, ...unread]
    const reply = await slices.next(() => store.read(walkScript, shard, values, now))
    sortedAt ??= reply.now
    const places = reply.places.map(({ value, key }) => ({
      value: order.isText ? value : Number(value),
      key,
    }))
    yield { matching: reply.matching, places, now: reply.now }
    if (unread.length === 0) cursor = reply.cursor
    unread = reply.unread
  } while (unread.length > 0 || cursor !== '0')
}

function placeValues(place: Place | undefined): [string | number, string] {
  return place === undefined ? ['', ''] : [place.value, place.key]
}
