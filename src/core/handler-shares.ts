import { SECOND } from './duration.ts'
import { firstSegment } from './key.ts'
import { newSharer, type Sharer, Sharers } from './sharers.ts'

/** How long after its last work a key still counts among those that share the handlers of its segment. */
const KEY_REMEMBERED = 10 * SECOND
/**
 * The same of a first segment. Its handlers may take minutes, and one that takes all of them when another has no work at the
 * moment keeps it out for as long.
 */
const SEGMENT_REMEMBERED = 60 * SECOND
/** So many first segments are counted, and so many keys of each: those that have no handler and come later are not. */
const MOST_COUNTED = 1_000

interface Segment extends Sharer {
  readonly keys: Sharers<Sharer>
}

function newSegment(): Segment {
  return { ...newSharer(), keys: new Sharers(KEY_REMEMBERED, newSharer) }
}

/** For what free handlers are withheld from a key: for other first segments, or for other keys of its own. */
export type Withheld = 'segment' | 'key'

/**
 * How a key that may take a handler stands, by what its segment has. Where several wait, those with the lowest rank come first.
 *
 * | rank | its segment has                                                                         |
 * |------|-----------------------------------------------------------------------------------------|
 * | 0    | less than its share if one more shared, which may wait and not have had a chance to ask |
 * | 1    | less than its share                                                                     |
 * | 2    | its share or more: handlers that are left over                                          |
 */
export type Rank = 0 | 1 | 2

/**
 * Divides the handlers of a pool between the first segments of keys, and those of a segment between its keys. A segment that is
 * alone may take them all. Each of several that had work in the last minute may take an equal share; and more while the
 * square root of the pool's size stays free, so that another segment finds a handler (the safety capacity of square-root
 * staffing: Halfin and Whitt, Operations Research 29, 1981). So a segment has no more for having many keys. The keys of a
 * segment divide its share in the same way, by the work of the last ten seconds. Pure: `now` is an argument, in microseconds.
 */
export class HandlerShares {
  #size = 0
  #used = 0
  readonly #segments = new Sharers<Segment>(SEGMENT_REMEMBERED, newSegment)

  constructor(size: number) {
    this.resize(size)
  }

  get free(): number {
    return this.#size - this.#used
  }

  resize(by: number): void {
    this.#size += by
  }

  /** Whether the key may take a handler; the question itself counts as work. */
  mayTake(key: string, now: number): boolean {
    return isRank(this.ask(key, now))
  }

  /** The same; returns the rank among those that wait, or for what the free handlers are withheld. */
  ask(key: string, now: number): Rank | Withheld {
    const segment = this.#segments.note(firstSegment(key), now, MOST_COUNTED)
    // A share is not divided further than into single handlers.
    segment?.keys.note(key, now, Math.min(this.#segmentShare, MOST_COUNTED))
    return this.#judge(segment, key)
  }

  /** Whether the key may take a handler, without counting as work. */
  allows(key: string): boolean {
    return isRank(this.#judge(this.#segments.get(firstSegment(key)), key))
  }

  /** Whether all handlers are taken and the segment of the key has less than its share of them. */
  lacks(key: string): boolean {
    return this.free === 0 && (this.#segments.get(firstSegment(key))?.running ?? 0) < this.#segmentShare
  }

  /** Takes a handler for the key; one must be free. */
  take(key: string): void {
    this.#used++
    this.#segments.take(firstSegment(key)).keys.take(key)
  }

  release(key: string): void {
    this.#used--
    this.#segments.release(firstSegment(key)).keys.release(key)
  }

  get #segmentShare(): number {
    return shareOf(this.#size, this.#segments.count)
  }

  #judge(segment: Segment | undefined, key: string): Rank | Withheld {
    const { free } = this
    const { count } = this.#segments
    const share = this.#segmentShare
    const running = segment?.running ?? 0
    /** How many more the segment may take. */
    const room = Math.max(Math.min(free, share - running), free - reserveOf(this.#size, count))
    if (room <= 0) return 'segment'
    if (segment !== undefined) {
      const { keys } = segment
      const isBelowShare = (keys.get(key)?.running ?? 0) < shareOf(share, keys.count)
      if (!isBelowShare && room <= reserveOf(share, keys.count)) return 'key'
    }
    if (running >= share) return 2
    return running < shareOf(this.#size, count + 1) ? 0 : 1
  }
}

/** Whether the answer is that a handler may be taken. */
export function isRank(answer: Rank | Withheld): answer is Rank {
  return typeof answer === 'number'
}

function shareOf(size: number, count: number): number {
  return Math.ceil(size / Math.max(1, count))
}

/** How many stay free once one of several has its share. */
function reserveOf(size: number, count: number): number {
  return count > 1 ? Math.floor(Math.sqrt(size)) : 0
}
