import { type Due, DueHeap } from '../../core/due-heap.ts'
import { SECOND } from '../../core/duration.ts'
import type { Rank, Withheld } from '../../core/handler-shares.ts'
import { firstSegment } from '../../core/key.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Decides which keys may take a free handler. */
export interface HandlerPool {
  /** The rank of the key among those that wait for one, or for what the free ones are withheld from it. */
  ask(key: string, now: number): Rank | Withheld
}

/**
 * Buckets that were held back try again after this time even if no handler has ended: handlers kept for other keys may not be
 * needed any more.
 */
const HELD_BACK_FOR = SECOND

/** The buckets of a first segment that others precede or for which no handler was free. Its first bucket asks for all. */
class SegmentHeap extends DueHeap<MemoryBucket> implements Due {
  handle = -1
  /** The segments of its rank; undefined: it was refused. */
  rivals: DueHeap<SegmentHeap> | undefined = undefined
  readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }
}

/**
 * The buckets whose head may depart once it is due and a handler is free. A bucket is in one of these heaps:
 *
 * - ready: it asks for a handler when it is due
 * - that of its segment, once one of its buckets was not of rank 0: the segment asks as a whole, after those of lower ranks, so
 *   it costs the same for any number of buckets; one that was refused asks again when handlers have become free
 * - heldBack: the free handlers are kept for other keys of its segment
 */
export class Departures {
  readonly #ready = new DueHeap<MemoryBucket>()
  readonly #segments = new Map<string, SegmentHeap>()
  readonly #byRank = [
    new DueHeap<SegmentHeap>(),
    new DueHeap<SegmentHeap>(),
    new DueHeap<SegmentHeap>(),
  ] as const
  readonly #heldBack = new DueHeap<MemoryBucket>()
  #letInAt = Number.POSITIVE_INFINITY

  /** When buckets that were held back try again. */
  get letInAt(): number {
    return this.#letInAt
  }

  /** The heap with the bucket that is due first, of those that may ask. */
  get first(): DueHeap<MemoryBucket> {
    return this.#byRank.reduce(earlier, this.#ready)
  }

  /** The heap of the lowest rank with a bucket that is due by `now`; if there is none, any other. */
  firstDue(now: number): DueHeap<MemoryBucket> {
    const first = earlier(this.#ready, this.#byRank[0])
    if (first.earliest <= now) return first
    return this.#byRank.find(({ earliest }) => earliest <= now)?.peek() ?? first
  }

  /** The heap for a bucket. */
  heapFor(bucket: MemoryBucket): DueHeap<MemoryBucket> {
    if (this.#segments.size === 0) return this.#ready
    return this.#segments.get(firstSegment(bucket.key)) ?? this.#ready
  }

  /** To be called when a bucket was put into the heap or taken out of it. */
  update(heap: DueHeap<MemoryBucket> | undefined): void {
    if (!(heap instanceof SegmentHeap)) return
    if (heap.size === 0) {
      heap.rivals?.remove(heap)
      this.#segments.delete(heap.name)
    } else heap.rivals?.set(heap, heap.earliest)
  }

  /**
   * The heap for the first bucket of `heap` after what the pool has answered; undefined: it may depart, as those of its rank
   * come next.
   */
  heapAfter(
    heap: DueHeap<MemoryBucket>,
    answer: Rank | Withheld,
    now: number,
  ): DueHeap<MemoryBucket> | undefined {
    if (answer === 'key') {
      this.#tryAgain(now)
      return this.#heldBack
    }
    if (answer === 'segment') {
      this.#tryAgain(now)
      return this.#move(heap, undefined)
    }
    const rivals = this.#byRank[answer]
    const rank = heap instanceof SegmentHeap ? this.#byRank.indexOf(heap.rivals!) : 0
    return answer <= rank ? undefined : this.#move(heap, rivals)
  }

  /** Lets segments ask again; returns the buckets that were held back, which the caller puts into the heap for each. */
  letIn(): DueHeap<MemoryBucket> {
    this.#letInAt = Number.POSITIVE_INFINITY
    for (const heap of this.#segments.values()) this.#rank(heap, this.#byRank[0])
    return this.#heldBack
  }

  #tryAgain(now: number): void {
    this.#letInAt = Math.min(this.#letInAt, now + HELD_BACK_FOR)
  }

  #move(heap: DueHeap<MemoryBucket>, rivals: DueHeap<SegmentHeap> | undefined): SegmentHeap {
    const name = firstSegment(heap.peek()!.key)
    const segment = this.#segments.get(name) ?? new SegmentHeap(name)
    this.#segments.set(name, segment)
    this.#rank(segment, rivals)
    return segment
  }

  #rank(heap: SegmentHeap, rivals: DueHeap<SegmentHeap> | undefined): void {
    heap.rivals?.remove(heap)
    heap.rivals = rivals
    rivals?.set(heap, heap.earliest)
  }
}

function earlier(heap: DueHeap<MemoryBucket>, segments: DueHeap<SegmentHeap>): DueHeap<MemoryBucket> {
  return segments.earliest < heap.earliest ? segments.peek()! : heap
}
