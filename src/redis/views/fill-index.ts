import { monotonicNow } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import type { Place } from '../../line/bucket-order.ts'
import { MOST_PER_CALL } from '../scripts/prelude.ts'
import { list, number, oneOf, rest, row, text, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { FilterValues } from './bucket-filter.ts'
import { PacedSlices } from './paced-slices.ts'

const fullestScript = defineScript(
  'fullest',
  import.meta.url,
  list(
    oneOf({
      unready: {},
      ok: {
        within: number,
        counted: number,
        stop: word('end', 'at', 'past'),
        stopFill: text,
        stopKey: text,
        places: rest(row({ value: number, key: text })),
      },
    }),
  ),
)
const reindexScript = defineScript('reindex', import.meta.url, text)

/** What the index of one shard has. */
export interface FoundByFill {
  readonly places: readonly Place[]
  /** Buckets within the bounds of fill, whatever else the filter asks for. */
  readonly within: number
  /** How many of those, from the asked place on, match the filter; where `isOver` is false, not all were looked at. */
  readonly counted: number
  readonly isOver: boolean
}

/** So many slices are counted on when a page is full: some ten milliseconds. */
const MORE_SLICES = 12
/** A sweep looks at every bucket, and would have no end while an older version goes on writing. */
const SWEEP_AGAIN_AFTER = 60 * SECOND
/** A sweep pauses so many times as long as its slices take. */
const SWEEP_PAUSES = 4

/**
 * Finds live buckets by how full they are: in a sorted set in each shard, which the scripts keep up to date. A version that
 * does not know the set leaves it incomplete; it is then not used until a sweep has completed it.
 */
export class FillIndex {
  readonly #store: Store
  /** When the sweep of a shard ended; Infinity while it is under way. */
  readonly #sweptAt = new Map<number, number>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The first places after one; undefined while the index is incomplete. */
  async first(
    shard: number,
    filter: FilterValues,
    { after, wanted, isDown }: { after: Place | undefined; wanted: number; isDown: boolean },
    now?: number,
  ): Promise<FoundByFill | undefined> {
    const slices = new PacedSlices()
    const places: Place[] = []
    let from: (string | number)[] = after === undefined ? ['start', '', ''] : ['at', after.value, after.key]
    let counted = 0
    let more = MORE_SLICES
    for (;;) {
      const left = wanted - places.length
      const values = [left, filter.isPlain ? '0' : '1', isDown ? 'down' : 'up', ...filter.values, ...from]
      const slice = await slices.next(() => this.#store.read(fullestScript, shard, values, now))
      if (slice.kind === 'unready') {
        void this.#sweep(shard)
        return undefined
      }
      counted += slice.counted
      places.push(...slice.places)
      const isOver = slice.stop === 'end'
      const isEnough = places.length >= wanted && (filter.isPlain || more-- === 0)
      if (isOver || isEnough) return { places, within: slice.within, counted, isOver }
      from = [slice.stop, slice.stopFill, slice.stopKey]
    }
  }

  /** Looks again at keys whose places do not fit their buckets. An error is ignored: the next page that finds them tries again. */
  async mend(shard: number, keys: readonly string[]): Promise<void> {
    try {
      for (let from = 0; from < keys.length; from += MOST_PER_CALL) {
        await this.#store.run(reindexScript, shard, ['keys', ...keys.slice(from, from + MOST_PER_CALL)])
      }
    } catch {}
  }

  /** Puts all live buckets into the set and removes all others from it, in the background. */
  async #sweep(shard: number): Promise<void> {
    const sweptAt = this.#sweptAt.get(shard) ?? Number.NEGATIVE_INFINITY
    if (monotonicNow() < sweptAt + SWEEP_AGAIN_AFTER) return
    this.#sweptAt.set(shard, Number.POSITIVE_INFINITY)
    const slices = new PacedSlices(SWEEP_PAUSES)
    try {
      for (const which of ['buckets', 'members']) {
        let cursor = '0'
        do {
          cursor = await slices.next(() => this.#store.run(reindexScript, shard, [which, cursor]))
        } while (cursor !== '0')
      }
      this.#sweptAt.set(shard, monotonicNow())
    } catch {
      this.#sweptAt.delete(shard)
    }
  }
}
