import { monotonicNow } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import type { Place } from '../../line/bucket-order.ts'
import { fullestReply, inGroups, refillReply } from '../scripts/replies.ts'
import { Rests } from '../scripts/rests.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { FilterValues } from './query-values.ts'

const fullestScript = defineScript('fullest', import.meta.url, fullestReply)
const refillScript = defineScript('refill', import.meta.url, refillReply)

/** What one shard has, in the order of its set. */
export interface FoundByFill {
  readonly places: readonly Place[]
  /** Buckets within the bounds of fill, whatever else is asked of them. */
  readonly within: number
  /** Of those, from the place on that was asked for, how many are asked for; not all were looked at where `isOver` is false. */
  readonly counted: number
  readonly isOver: boolean
}

/** So many slices are counted on when a page is full: some ten milliseconds. */
const MORE_SLICES = 12
/** A sweep looks at every bucket: while an older version goes on writing there is no end to it. */
const SWEEP_AGAIN_AFTER = 60 * SECOND
const MOST_KEYS = 200
/** A sweep rests so many times as long as its slices take. */
const SWEEP_RESTS = 4

/**
 * Live buckets by how full they are: a sorted set in each shard, which the scripts keep. Where a version that did not know
 * the set has written, it may lack some, and is not used until a sweep has put them in.
 */
export class FillOrder {
  readonly #store: Store
  /** When the sweep of a shard ended; Infinity while it is under way. */
  readonly #sweptAt = new Map<number, number>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The first places after one; undefined when the set does not tell. */
  async first(
    shard: number,
    filter: FilterValues,
    { after, wanted, isDown }: { after: Place | undefined; wanted: number; isDown: boolean },
    now?: number,
  ): Promise<FoundByFill | undefined> {
    const rests = new Rests()
    const places: Place[] = []
    let from: (string | number)[] = after === undefined ? ['start', '', ''] : ['at', after.value, after.key]
    let counted = 0
    let more = MORE_SLICES
    for (;;) {
      const left = wanted - places.length
      const values = [left, filter.isPlain ? '0' : '1', isDown ? 'down' : 'up', ...filter.values, ...from]
      const reply = await rests.after(() => this.#store.read(fullestScript, shard, values, now))
      if (reply[1] === 'unready') {
        void this.#sweep(shard)
        return undefined
      }
      const [, within, count, stop, fill, key, ...found] = reply
      counted += count
      for (const [value, key] of inGroups(found, 2)) places.push({ value: Number(value), key: String(key) })
      const isOver = stop === 'end'
      const isEnough = places.length >= wanted && (filter.isPlain || more-- === 0)
      if (isOver || isEnough) return { places, within, counted, isOver }
      from = [stop, fill, key]
    }
  }

  /** Looks again at some keys whose places do not fit their buckets. What it cannot do now it need not do. */
  async mend(shard: number, keys: readonly string[]): Promise<void> {
    try {
      for (let from = 0; from < keys.length; from += MOST_KEYS) {
        await this.#store.run(refillScript, shard, ['keys', ...keys.slice(from, from + MOST_KEYS)])
      }
    } catch {
      // Whoever finds them next tries again.
    }
  }

  /** Puts all live buckets into the set and takes all others out, in the background. */
  async #sweep(shard: number): Promise<void> {
    const sweptAt = this.#sweptAt.get(shard) ?? Number.NEGATIVE_INFINITY
    if (monotonicNow() < sweptAt + SWEEP_AGAIN_AFTER) return
    this.#sweptAt.set(shard, Number.POSITIVE_INFINITY)
    const rests = new Rests(SWEEP_RESTS)
    try {
      for (const which of ['buckets', 'members']) {
        let cursor = '0'
        do {
          cursor = await rests.after(() => this.#store.run(refillScript, shard, [which, cursor]))
        } while (cursor !== '0')
      }
      this.#sweptAt.set(shard, monotonicNow())
    } catch {
      this.#sweptAt.delete(shard)
    }
  }
}
