import type { BucketView } from '../core/bucket-view.ts'
import { MILLISECOND, SECOND } from '../core/duration.ts'
import type { FamilyView } from '../core/family-view.ts'
import { addBucket, addFamily, type Count, emptyCount, type Labels } from './count.ts'

export interface CensusPorts {
  /** Iterates over all live buckets, page by page. */
  readonly survey: () => AsyncIterable<readonly BucketView[]>
  /** Iterates over all live totals, page by page. */
  readonly surveyFamilies: () => AsyncIterable<readonly FamilyView[]>
  readonly labels: Labels
  /** Yields to other work: for one turn of the event loop (0), or for that many milliseconds. */
  readonly pause: (ms: number) => Promise<void>
  /** A monotonic clock, in microseconds. */
  readonly now: () => number
}

/** A walk is fast up to this many pages of 100 (on Redis) or 200 buckets, and up to this time. */
const FAST_PAGES = 50
const FAST_FOR = 250 * MILLISECOND
/**
 * After that the walk rests this many times as long as its pages take, so it uses a tenth of the processor, and of
 * Redis.
 */
const REST = 9
const SHORTEST_REST_MS = 1
const LONGEST_REST_MS = 1_000
/** Milliseconds; a request does not wait longer for a store that does not reply. */
const PATIENCE_MS = 1_500
/** An older result is not returned. */
const TOO_OLD = 15 * 60 * SECOND

/**
 * Counts live buckets and totals on request. Up to ten thousand, or five thousand on Redis, are counted at once, and the result is current.
 * If there are more, the result is that of the last completed walk, and a new walk continues in the background, page by page with
 * rests: a million buckets take about ten seconds in memory and five minutes on Redis, without blocking other work.
 */
export class Census {
  readonly #ports: CensusPorts
  #walk: Promise<void> | undefined
  #last: Count | undefined
  #lastAt = 0
  /** Pages read so far, over all walks. */
  #pages = 0
  #isClosed = false
  /** Resolves when the current walk becomes a slow one. */
  #slow: Promise<void> = Promise.resolve()

  constructor(ports: CensusPorts) {
    this.#ports = ports
  }

  /**
   * Returns the latest result; undefined if there is none: no walk has completed yet, or recently, or the store does
   * not reply.
   */
  async latest(): Promise<Count | undefined> {
    if (this.#isClosed) return undefined
    if (this.#walk === undefined) {
      let onSlow: () => void = () => undefined
      this.#slow = new Promise((resolve) => {
        onSlow = resolve
      })
      this.#walk = this.#run(onSlow).finally(() => {
        this.#walk = undefined
      })
    }
    const pages = this.#pages
    let isOver = false
    const onOver = () => {
      isOver = true
    }
    const { now, pause } = this.#ports
    await Promise.race([this.#walk.then(onOver), this.#slow.then(onOver), pause(PATIENCE_MS)])
    const isSilent = !isOver && this.#pages === pages
    return isSilent || now() - this.#lastAt > TOO_OLD ? undefined : this.#last
  }

  /** Ends the current walk at its next page. */
  close(): void {
    this.#isClosed = true
  }

  async #run(onSlow: () => void): Promise<void> {
    const { pause, now } = this.#ports
    const count = emptyCount()
    let pages = 0
    let spent = 0
    try {
      let askedAt = now()
      for await (const _ of this.#counted(count)) {
        this.#pages++
        const took = now() - askedAt
        spent += took
        const isSlow = ++pages >= FAST_PAGES || spent >= FAST_FOR
        if (isSlow) onSlow()
        await pause(isSlow ? restMs(took) : 0)
        if (this.#isClosed) return
        askedAt = now()
      }
      this.#last = count
      this.#lastAt = now()
    } catch {
      // Figures from before an outage would look current. The outage itself is reported elsewhere.
      this.#last = undefined
    }
  }

  /** Adds all that lives, and pauses after each page. */
  async *#counted(count: Count): AsyncGenerator<void> {
    const { survey, surveyFamilies, labels } = this.#ports
    for await (const page of survey()) {
      for (const bucket of page) addBucket(count, bucket, labels)
      yield
    }
    for await (const page of surveyFamilies()) {
      for (const family of page) addFamily(count, family, labels)
      yield
    }
  }
}

/** The rest after a page that took `took` microseconds. */
function restMs(took: number): number {
  return Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, (REST * took) / MILLISECOND))
}
