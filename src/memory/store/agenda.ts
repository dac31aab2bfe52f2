import { forgettableAt } from '../../core/bucket.ts'
import { DueHeap } from '../../core/due-heap.ts'
import { SECOND } from '../../core/duration.ts'
import type { Deadline, JobRecord } from './job-record.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Decides which keys may take a free handler. */
export interface HandlerPool {
  mayTake(key: string, now: number): boolean
}

/**
 * Buckets that were held back try again after this time even if no handler has ended: handlers kept for other keys may not be
 * needed any more.
 */
const HELD_BACK_FOR = SECOND

/**
 * What is due when. A bucket is in at most one heap:
 *
 * - departures: its head may depart once a handler is free
 * - turns: its head is a turn, which needs no handler
 * - heldBack: its head is due, but the free handlers are kept for other keys
 * - forgettable: it is empty, and is forgotten when its `next` has passed and it is cold
 * - none: it is paused with jobs in it, or a handler runs and no job waits
 */
export class Agenda {
  readonly #departures = new DueHeap<MemoryBucket>()
  readonly #turns = new DueHeap<MemoryBucket>()
  readonly #heldBack = new DueHeap<MemoryBucket>()
  #letInAt = Number.POSITIVE_INFINITY
  readonly #forgettable = new DueHeap<MemoryBucket>()
  readonly #deadlines = new DueHeap<Deadline>()

  /** When the next departure is due, with room or of turns only; Infinity when no job may depart. */
  nextDeparture(hasRoom: boolean): number {
    return this.#first(hasRoom).earliest
  }

  /** By how much that departure may be late and still keep its slot. */
  nextTolerance(hasRoom: boolean): number {
    return this.#first(hasRoom).peek()?.limit.tolerance ?? Number.POSITIVE_INFINITY
  }

  /** When the next deadline passes, the next bucket may be forgotten, or buckets that were held back try again. */
  get nextChore(): number {
    return Math.min(this.#deadlines.earliest, this.#forgettable.earliest, this.#letInAt)
  }

  /**
   * Puts the bucket into the heap of its next event. Its slot is not before `from`: now for a job that found the line
   * empty; a job that waited already keeps the slot that was due, which the gate moves if it comes too late.
   */
  arm(bucket: MemoryBucket, from = Number.NEGATIVE_INFINITY): void {
    const due = bucket.nextDeparture(from)
    if (bucket.isDeparting) place(bucket, undefined)
    else if (due !== Number.POSITIVE_INFINITY) place(bucket, this.#heapOf(bucket, due), due)
    else if (bucket.jobs > 0 || bucket.running > 0 || bucket.paused) place(bucket, undefined)
    else place(bucket, this.#forgettable, Math.max(from, forgettableAt(bucket)))
  }

  /** Another job may be next in the bucket, which departs with the same slot. */
  sort(bucket: MemoryBucket, now: number): void {
    const { heap } = bucket
    if (heap === undefined || heap === this.#forgettable) return
    const due = heap.dueOf(bucket)
    place(bucket, this.#heapOf(bucket, Math.max(due, now)), due)
  }

  /**
   * The bucket whose departure is due first, if it is due by `now`; without room, the first whose head is a turn. Buckets
   * that may not take a handler of the pool are held back.
   */
  dueBucket(now: number, hasRoom: boolean, pool?: HandlerPool): MemoryBucket | undefined {
    if (now >= this.#letInAt) this.letIn()
    for (;;) {
      const heap = this.#first(hasRoom)
      if (heap.earliest > now) return undefined
      const bucket = heap.peek()!
      if (bucket.isTurnNext(now)) return bucket
      if (hasRoom && pool?.mayTake(bucket.key, now) !== false) return bucket
      if (hasRoom) {
        place(bucket, this.#heldBack, heap.dueOf(bucket))
        this.#letInAt = Math.min(this.#letInAt, now + HELD_BACK_FOR)
      }
      // A retry has become ready meanwhile, and goes first.
      else this.sort(bucket, now)
    }
  }

  /** Lets buckets that were held back try again. */
  letIn(): void {
    this.#letInAt = Number.POSITIVE_INFINITY
    for (let bucket = this.#heldBack.peek(); bucket !== undefined; bucket = this.#heldBack.peek()) {
      const due = this.#heldBack.dueOf(bucket)
      place(bucket, this.#heapOf(bucket, due), due)
    }
  }

  /** The slot of the bucket's next departure; a job in it must be about to depart. */
  slotOf(bucket: MemoryBucket): number {
    return bucket.heap!.dueOf(bucket)
  }

  /** Takes out a bucket that may be forgotten. */
  takeForgettable(now: number): MemoryBucket | undefined {
    if (this.#forgettable.earliest > now) return undefined
    const bucket = this.#forgettable.peek()!
    place(bucket, undefined)
    return bucket
  }

  /** Watches the deadline of a job. A start within the tolerance is on time, also at the last moment. */
  watch(job: JobRecord): void {
    if (job.deadline === undefined) return
    this.#deadlines.set(job.deadline, job.deadline.at + job.bucket.limit.tolerance + 1)
  }

  unwatch(job: JobRecord): void {
    if (job.deadline !== undefined) this.#deadlines.remove(job.deadline)
  }

  /** A job whose deadline has passed. */
  overdueJob(now: number): JobRecord | undefined {
    return this.#deadlines.earliest <= now ? this.#deadlines.peek()!.job : undefined
  }

  #first(hasRoom: boolean): DueHeap<MemoryBucket> {
    return hasRoom && this.#departures.earliest < this.#turns.earliest ? this.#departures : this.#turns
  }

  #heapOf(bucket: MemoryBucket, due: number): DueHeap<MemoryBucket> {
    return bucket.isTurnNext(due) ? this.#turns : this.#departures
  }
}

function place(bucket: MemoryBucket, heap: DueHeap<MemoryBucket> | undefined, due = 0): void {
  if (bucket.heap !== heap) bucket.heap?.remove(bucket)
  bucket.heap = heap
  heap?.set(bucket, due)
}
