import { forgettableAt } from '../../core/bucket.ts'
import { DueHeap } from '../../core/due-heap.ts'
import { SECOND } from '../../core/duration.ts'
import type { Deadline, JobRecord } from './job-record.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Says who may have a handler. */
export interface HandlerPool {
  mayTake(key: string, now: number): boolean
}

/**
 * Those that were held back ask again after that, though no handler has ended: what was left free for others may not be needed
 * any more.
 */
const PATIENCE = SECOND

/**
 * When what is due. A bucket stands in one heap: while somebody in it may depart, that of departures for which a
 * handler must be free, or that of those who only take turns, or that of those held back from handlers that are free; else, once it is empty, that of buckets to forget when
 * their `next` has passed and they are cold. A paused bucket with guests stands in none.
 */
export class Agenda {
  readonly #departures = new DueHeap<MemoryBucket>()
  readonly #turns = new DueHeap<MemoryBucket>()
  /** Those that are due and may not take the handlers that are free. */
  readonly #heldBack = new DueHeap<MemoryBucket>()
  #letInAt = Number.POSITIVE_INFINITY
  readonly #forgettable = new DueHeap<MemoryBucket>()
  readonly #deadlines = new DueHeap<Deadline>()

  /** When the next departure is due, of those for whom there is room; Infinity when nobody may depart. */
  nextDeparture(hasRoom: boolean): number {
    return this.#first(hasRoom).earliest
  }

  /** By how much that departure may be late and still keep its slot. */
  nextTolerance(hasRoom: boolean): number {
    return this.#first(hasRoom).peek()?.limit.tolerance ?? Number.POSITIVE_INFINITY
  }

  /** When the next deadline passes, the next bucket may be forgotten, or those that were held back ask again. */
  get nextChore(): number {
    return Math.min(this.#deadlines.earliest, this.#forgettable.earliest, this.#letInAt)
  }

  /**
   * Puts the bucket where its next event is. Its slot is not before `from`: now for one who found nobody waiting,
   * while one who waited already keeps the slot that was due, which the gate moves if it comes too late.
   */
  arm(bucket: MemoryBucket, from = Number.NEGATIVE_INFINITY): void {
    const due = bucket.nextDeparture(from)
    if (bucket.isDeparting) place(bucket, undefined)
    else if (due !== Number.POSITIVE_INFINITY) place(bucket, this.#heapOf(bucket, due), due)
    else if (bucket.jobs > 0 || bucket.running > 0 || bucket.paused) place(bucket, undefined)
    else place(bucket, this.#forgettable, Math.max(from, forgettableAt(bucket)))
  }

  /** Somebody else may be next in the bucket, who departs with the same slot. */
  sort(bucket: MemoryBucket, now: number): void {
    const { heap } = bucket
    if (heap === undefined || heap === this.#forgettable) return
    const due = heap.dueOf(bucket)
    place(bucket, this.#heapOf(bucket, Math.max(due, now)), due)
  }

  /**
   * The bucket whose departure is due first, if it is due by `now`; without room, the first that needs none. Those that may
   * not take a handler of the pool are held back.
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
        this.#letInAt = Math.min(this.#letInAt, now + PATIENCE)
      }
      // A retry has become ready meanwhile, and goes first.
      else this.sort(bucket, now)
    }
  }

  /** Those that were held back may ask again. */
  letIn(): void {
    this.#letInAt = Number.POSITIVE_INFINITY
    for (let bucket = this.#heldBack.peek(); bucket !== undefined; bucket = this.#heldBack.peek()) {
      const due = this.#heldBack.dueOf(bucket)
      place(bucket, this.#heapOf(bucket, due), due)
    }
  }

  /** The slot of the bucket's next departure; somebody in it must be about to depart. */
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

  /** A start within the tolerance is on time, also at the last moment. */
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
