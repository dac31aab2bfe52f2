import type { BucketOrder, FirstPlaces, Place } from '../../line/bucket-order.ts'
import { type BucketTally, emptyTally, type TallyGroup } from '../../line/bucket-query.ts'
import { inGroups, tallyReply, walkReply } from '../scripts/replies.ts'
import { Rests } from '../scripts/rests.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { FilterValues } from './query-values.ts'

const walkScript = defineScript('walk', import.meta.url, walkReply)
const tallyScript = defineScript('tally', import.meta.url, tallyReply)

interface WalkRequest {
  readonly order: BucketOrder
  readonly filter: FilterValues
  readonly after: Place | undefined
  /** What was found so far: whoever does not belong to it is not told. */
  readonly first: FirstPlaces
  /** Of what time the values are, in microseconds; undefined: of now. */
  readonly at: number | undefined
}

interface Slice {
  /** How many of them are asked for. */
  readonly asked: number
  readonly places: readonly Place[]
  readonly now: number
}

/** Records that are looked at in one go: somewhat less than a millisecond. */
const USUAL_SLICE = 200

/** Walks over all live buckets, slice by slice and by their records alone. */
export class BucketWalks {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** The places that a query asks for; a bucket may be met twice. */
  async *slices(
    shard: number,
    { order, filter, after, first, at }: WalkRequest,
    now?: number,
  ): AsyncGenerator<Slice> {
    const rests = new Rests()
    const direction = order.isDescending ? 'down' : 'up'
    let [cursor, sortedAt] = ['0', at]
    // Of a slice in which many jobs have to be looked at, buckets are left.
    let left: readonly string[] = []
    do {
      const bounds = [...placeValues(after), ...placeValues(first.last)]
      const from = left.length > 0 ? ['', 0] : [cursor, USUAL_SLICE]
      const values = [...from, ...filter.values, order.column, direction, sortedAt ?? '', ...bounds, ...left]
      const reply = await rests.after(() => this.#store.read(walkScript, shard, values, now))
      const [told, next, others, asked, ...found] = reply
      sortedAt ??= told
      const places = inGroups(found, 2).map(([value, key]) => ({
        value: order.isText ? String(value) : Number(value),
        key: String(key),
      }))
      yield { asked, places, now: told }
      if (left.length === 0) cursor = next
      left = others
    } while (left.length > 0 || cursor !== '0')
  }

  async tally(groups: readonly TallyGroup[]): Promise<BucketTally[]> {
    const tallies = groups.map(emptyTally)
    const names = groups.flatMap((heads) => [heads.length, ...heads])
    const rests = new Rests()
    for (const shard of this.#store.tags.keys()) {
      let cursor = '0'
      do {
        const values = [cursor, USUAL_SLICE, ...names]
        const reply = await rests.after(() => this.#store.read(tallyScript, shard, values))
        const [, next, ...sums] = reply
        for (const [index, group] of inGroups(sums, TALLY_SIZE).entries()) add(tallies[index]!, group)
        cursor = next
      } while (cursor !== '0')
    }
    return tallies
  }
}

const TALLY_SIZE = 10

function add(tally: BucketTally, sums: readonly number[]): void {
  const [buckets, idle, waiting, full, frozen, paused, units, jobs, retrying, running] = sums
  const states = { idle, waiting, full, frozen, paused }
  tally.buckets += buckets ?? 0
  for (const state of STATES) tally.states[state] += states[state] ?? 0
  tally.waiting += units ?? 0
  tally.jobs += jobs ?? 0
  tally.retrying += retrying ?? 0
  tally.running += running ?? 0
}

const STATES = ['idle', 'waiting', 'full', 'frozen', 'paused'] as const

function placeValues(place: Place | undefined): [string | number, string] {
  return place === undefined ? ['', ''] : [place.value, place.key]
}
