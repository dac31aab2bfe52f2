import { SECOND } from '../../core/duration.ts'
import type { LayeredBook } from '../../core/layered-book.ts'
import { isRolling } from '../../core/quota.ts'
import { shardKey } from '../scripts/keys.ts'
import type { Store } from '../scripts/store.ts'

/** How often the tables are written again. Those of today stay as they are. */
const PERIOD = 3_600 * SECOND

/**
 * Keeps the tables of time zones in Redis up to date, for quotas by the calendar: those of the rule book, and one that a script did
 * not find. A script that stops for it gets it at once, from the process that called: see scripts/store.ts.
 */
export class KnownZones {
  readonly #store: Store
  /** Of the rule book of this version. */
  #version: number | undefined
  #zones: readonly string[] = []
  /** A bucket may keep its limit for longer than the rule book. */
  #hasZones = false
  #writtenAt = Number.NEGATIVE_INFINITY

  constructor(store: Store) {
    this.#store = store
  }

  /** Costs nothing where no rule has a quota by the calendar. */
  async follow(book: LayeredBook, now: number): Promise<void> {
    if (book.version !== this.#version) {
      this.#zones = zonesOf(book)
      this.#hasZones ||= this.#zones.length > 0
      this.#writtenAt = Number.NEGATIVE_INFINITY
      this.#version = book.version
    }
    if (!this.#hasZones) return
    const isDue = now - this.#writtenAt >= PERIOD
    await this.#store.everywhere(async (shard) => {
      const wanted = await this.#store.field(shardKey(this.#store.tags[shard]!, 'meta'), 'zone')
      const zones = [...(isDue ? this.#zones : []), ...(wanted === undefined ? [] : [wanted])]
      if (zones.length > 0) await this.#store.writeZones(shard, zones)
    })
    if (isDue) this.#writtenAt = now
  }
}

function zonesOf(book: LayeredBook): string[] {
  const windows = book.list().flatMap(({ limit }) => limit.quotas.map(({ window }) => window))
  return [...new Set(windows.flatMap((window) => (isRolling(window) ? [] : [window.zone])))]
}
