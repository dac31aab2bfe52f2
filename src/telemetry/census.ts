import type { BucketState, BucketView } from '../core/bucket-view.ts'
import { MILLISECOND, SECOND } from '../core/duration.ts'
import type { HoldReason } from '../core/hold.ts'

/** Totals over the live buckets of one pattern. */
export interface PatternCount {
  /** Cost units, summed over the buckets. */
  waiting: number
  capacity: number
  /** Fill of the fullest bucket. */
  fillMax: number
  /** Milliseconds. */
  oldestWaitMs: number
  /** Only for a pattern whose buckets have quotas or places. */
  parts?: PartsCount
}

/** What keeps the lines of one pattern, and how much of its quotas and places is used. */
export interface PartsCount {
  /** Buckets in which jobs wait, by the part of the limit for which the next one waits. */
  readonly held: Record<HoldingPart, number>
  /** Of the quota of which most is used; above 1 after a settlement, or under a limit that was lowered. */
  quotaMax: number
  /** Places, summed over the buckets. */
  taken: number
  places: number
}

export const HOLDING_PARTS = ['pace', 'quota', 'places'] as const
export type HoldingPart = (typeof HOLDING_PARTS)[number]

/** A freeze, a pause or a retry that backs off is no part of the limit. */
const PART_OF: Partial<Record<HoldReason, HoldingPart>> = { slot: 'pace', quota: 'quota', place: 'places' }

/** The result of one walk over all live buckets. */
export interface Count {
  readonly patterns: Map<string, PatternCount>
  readonly states: Record<BucketState, number>
}

export interface CensusPorts {
  /** Iterates over all live buckets, page by page. */
  readonly survey: () => AsyncIterable<readonly BucketView[]>
  /** Returns the label under which a pattern is counted. */
  readonly labelOf: (pattern: string) => string
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
 * Counts live buckets on request. Up to ten thousand, or five thousand on Redis, are counted at once, and the result is current.
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
      // Figures from before an outage would look current. The outage itself is reported elsewhere.
      this.#last = undefined
    }
  }

  #add({ patterns, states }: Count, bucket: BucketView): void {
    const { pattern, state, waiting, capacity, fill, oldestWaitMs } = bucket
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
    addParts(of, bucket)
  }
}

function addParts(of: PatternCount, { quotas = [], places, heldBy }: BucketView): void {
  if (quotas.length === 0 && places === undefined) return
  of.parts ??= { held: { pace: 0, quota: 0, places: 0 }, quotaMax: 0, taken: 0, places: 0 }
  const { parts } = of
  parts.quotaMax = Math.max(parts.quotaMax, ...quotas.map(({ used, amount }) => used / amount))
  parts.taken += places?.taken ?? 0
  parts.places += places?.of ?? 0
  const part = heldBy && PART_OF[heldBy.reason]
  if (part !== undefined) parts.held[part]++
}

/** The rest after a page that took `took` microseconds. */
function restMs(took: number): number {
  return Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, (REST * took) / MILLISECOND))
}

function emptyCount(): Count {
  return { patterns: new Map(), states: { idle: 0, waiting: 0, full: 0, frozen: 0, paused: 0 } }
}
