import { MILLISECOND, SECOND } from '../core/duration.ts'
import type { BucketState, BucketView } from '../core/job.ts'

/** What the buckets of one pattern hold together. */
export interface PatternCount {
  /** Cost units, summed over its live buckets. */
  waiting: number
  capacity: number
  /** Of its fullest bucket. */
  fillMax: number
  /** Milliseconds. */
  oldestWaitMs: number
}

/** What one walk over all live buckets found. */
export interface Count {
  readonly patterns: Map<string, PatternCount>
  readonly states: Record<BucketState, number>
}

export interface CensusPorts {
  /** All live buckets, page by page. */
  readonly survey: () => AsyncIterable<readonly BucketView[]>
  /** The label that a pattern is counted under. */
  readonly labelOf: (pattern: string) => string
  /** Lets others have their turn: for one turn of the event loop, or for so many milliseconds. */
  readonly pause: (ms: number) => Promise<void>
  /** Microseconds of a clock that is never set. */
  readonly now: () => number
}

/** So many pages, of about 200 buckets, are walked while somebody waits for the answer, if they come fast. */
const FAST_PAGES = 50
const FAST_FOR = 250 * MILLISECOND
/** The walk after that rests so many times as long as its pages take: of the processor, and of Redis, it has a tenth. */
const REST = 9
const SHORTEST_REST_MS = 1
const LONGEST_REST_MS = 1_000
/** Milliseconds; nobody waits longer for a store that does not answer. */
const PATIENCE_MS = 1_500
/** Whoever asks seldom would be told of long ago. */
const TOO_OLD = 15 * 60 * SECOND

/**
 * Counts over the live buckets, only when asked. Up to ten thousand of them are walked at once, and the answer is of
 * now. Of more, the answer is that of the last walk that came to its end, and a walk goes on in the background, page by
 * page with rests: a million buckets take about ten seconds in memory and five minutes on Redis, and hold nobody up.
 */
export class Census {
  readonly #ports: CensusPorts
  #walk: Promise<void> | undefined
  #last: Count | undefined
  #lastAt = 0
  /** That ever came. */
  #pages = 0
  #isClosed = false
  /** Resolves when the walk under way has become a slow one. */
  #slow: Promise<void> = Promise.resolve()

  constructor(ports: CensusPorts) {
    this.#ports = ports
  }

  /** Undefined when nothing is known: no walk has come to its end yet, or not lately, or the store does not answer. */
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

  /** Ends the walk under way at its next page. */
  close(): void {
    this.#isClosed = true
  }

  async #run(onSlow: () => void): Promise<void> {
    const { survey, pause, now } = this.#ports
    const count = emptyCount()
    let pages = 0
    let spent = 0
    try {
      let askedAt = now()
      for await (const page of survey()) {
        for (const bucket of page) this.#add(count, bucket)
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
      // Figures of before an outage would look like those of now. Of the outage itself others tell.
      this.#last = undefined
    }
  }

  #add(
    { patterns, states }: Count,
    { pattern, state, waiting, capacity, fill, oldestWaitMs }: BucketView,
  ): void {
    states[state]++
    const label = this.#ports.labelOf(pattern)
    let of = patterns.get(label)
    if (of === undefined) {
      of = { waiting: 0, capacity: 0, fillMax: 0, oldestWaitMs: 0 }
      patterns.set(label, of)
    }
    of.waiting += waiting
    of.capacity += capacity
    of.fillMax = Math.max(of.fillMax, fill)
    of.oldestWaitMs = Math.max(of.oldestWaitMs, oldestWaitMs)
  }
}

/** After a page that took so many microseconds. */
function restMs(took: number): number {
  return Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, (REST * took) / MILLISECOND))
}

function emptyCount(): Count {
  return { patterns: new Map(), states: { idle: 0, waiting: 0, full: 0, frozen: 0, paused: 0 } }
}
