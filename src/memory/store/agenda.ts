import { forgettableAt } from '../../core/bucket.ts'
import { DueHeap } from '../../core/due-heap.ts'
import { hasParts } from '../../core/limit.ts'
import { Departures, type HandlerPool } from './departures.ts'
import { tagUntil } from './family.ts'
import { FamilyAgenda } from './family-agenda.ts'
import type { Deadline, JobRecord } from './job-record.ts'
import type { MemoryBucket } from './memory-bucket.ts'
import { nextDeparture } from './next-departure.ts'

/** Buckets that one search may put aside, so that a segment with a million of them does not block the event loop. */
const MOST_PUT_ASIDE = 1_000
/** How often one search chooses anew who stands for a family. */
const MOST_RECHOSEN = 20

/**
 * What is due when. A bucket is in at most one heap:
 *
 * - departures, which has several: its head may depart once a handler is free for it
 * - turns: its head is a turn, which needs no handler
 * - forgettable: it is empty, and is forgotten when its `next` has passed and it is cold
 * - none: it is paused with jobs in it, or has no free place, or a handler runs and no job waits; or another stands for its family
 */
export class Agenda {
  readonly #departures = new Departures()
  readonly #turns = new DueHeap<MemoryBucket>()
  readonly #forgettable = new DueHeap<MemoryBucket>()
  readonly #deadlines = new DueHeap<Deadline>()
  /** Who stands for the buckets below one total. */
  readonly families = new FamilyAgenda({
    turns: this.#turns,
    forgettable: this.#forgettable,
    place: (...placed) => this.#place(...placed),
    heapOf: (...asked) => this.#heapOf(...asked),
  })

  /** When the next departure is due, with room or of turns only; Infinity when no job may depart. */
  nextDeparture(hasRoom: boolean): number {
    const { earliest } = this.#first(hasRoom)
    return hasRoom ? earliest : Math.min(earliest, this.families.earliestTurn)
  }

  /** By how much that departure may be late and still keep its slot. */
  nextTolerance(hasRoom: boolean): number {
    return this.#first(hasRoom).peek()?.limit.tolerance ?? Number.POSITIVE_INFINITY
  }

  /** When the next deadline passes, the next bucket may be forgotten, or buckets that were held back try again. */
  get nextChore(): number {
    return Math.min(this.#deadlines.earliest, this.#forgettable.earliest, this.#departures.letInAt)
  }

  /**
   * Puts the bucket into the heap of its next event. Its slot is not before `from`: now for a job that found the line
   * empty; a job that waited already keeps the slot that was due, which the gate moves if it comes too late.
   */
  arm(bucket: MemoryBucket, now: number, from = Number.NEGATIVE_INFINITY): void {
    const { member } = bucket
    if (member !== undefined) {
      member.since = from
      this.families.arm(member, now)
      if (bucket.jobs > 0) return
    }
    const due = nextDeparture(bucket, from)
    if (bucket.isDeparting) this.#place(bucket, undefined)
    else if (due !== Number.POSITIVE_INFINITY)
      this.#place(bucket, this.#heapOf(bucket, Math.max(due, now)), due)
    else if (bucket.jobs > 0 || bucket.placesTaken > 0 || bucket.paused) this.#place(bucket, undefined)
    else this.#place(bucket, this.#forgettable, Math.max(from, forgettableAt(bucket)))
  }

  /** The limit of the bucket has more than a pace, and another head, room or place may change when it departs. */
  rearm(bucket: MemoryBucket, now: number): void {
    if (bucket.member !== undefined) {
      this.arm(bucket, now, Math.min(bucket.member.since, now))
      return
    }
    const { heap } = bucket
    const due =
      heap === undefined || heap === this.#forgettable ? Number.NEGATIVE_INFINITY : heap.dueOf(bucket)
    this.arm(bucket, now, Math.min(due, now))
  }

  /** Another job may be next in the bucket, which departs with the same slot. */
  sort(bucket: MemoryBucket, now: number): void {
    if (hasParts(bucket.limit) || bucket.member !== undefined) {
      this.rearm(bucket, now)
      return
    }
    const { heap } = bucket
    if (heap === undefined || heap === this.#forgettable) return
    const due = heap.dueOf(bucket)
    this.#place(bucket, this.#heapOf(bucket, Math.max(due, now)), due)
  }

  /**
   * The bucket whose departure is due first, if it is due by `now`; without room, the first whose head is a turn. Buckets
   * that may not take a handler of the pool are put aside; when these are many, the search goes on with the next call.
   */
  dueBucket(now: number, hasRoom: boolean, pool?: HandlerPool): MemoryBucket | undefined {
    if (now >= this.#departures.letInAt) this.letIn(now)
    let rechosen = 0
    for (let putAside = 0; ; ) {
      const mayAsk = hasRoom && putAside < MOST_PUT_ASIDE
      if (!mayAsk) this.families.passOver(now)
      const heap = this.#firstDue(now, mayAsk)
      if (heap.earliest > now) return undefined
      const bucket = heap.peek()!
      const { member } = bucket
      if (member !== undefined) {
        if (!this.families.isChosen(bucket, member.family, now)) {
          // Many children may come due together: they join in slices, and other work has its turn between them.
          if (++rechosen === MOST_RECHOSEN) return undefined
          continue
        }
      }
      // Another head than the one that was waited for, or another period of a calendar, may have less room.
      else if (bucket.usage !== undefined && nextDeparture(bucket, now) > now) {
        this.arm(bucket, now, now)
        continue
      }
      if (bucket.isTurnNext(now)) return bucket
      if (mayAsk) {
        const answer = pool?.ask(bucket.key, now) ?? 0
        const other = this.#departures.heapAfter(heap, answer, now)
        if (other === undefined) return bucket
        if (answer === 'key' && member !== undefined) this.families.putAside(member, now)
        else this.#place(bucket, other, heap.dueOf(bucket))
        putAside++
      }
      // A retry has become ready meanwhile, and goes first.
      else this.sort(bucket, now)
    }
  }

  /** Lets buckets that were held back try again. */
  letIn(now: number): void {
    this.families.recall(now)
    const heldBack = this.#departures.letIn()
    for (let bucket = heldBack.peek(); bucket !== undefined; bucket = heldBack.peek()) {
      const due = heldBack.dueOf(bucket)
      this.#place(bucket, this.#heapOf(bucket, due), due)
    }
  }

  /** The slot of the bucket's next departure; a job in it must be about to depart. */
  slotOf(bucket: MemoryBucket): number {
    return bucket.heap!.dueOf(bucket)
  }

  /** Takes out a bucket that may be forgotten. */
  takeForgettable(now: number): MemoryBucket | undefined {
    while (this.#forgettable.earliest <= now) {
      const bucket = this.#forgettable.peek()!
      const until = bucket.member === undefined ? now : tagUntil(bucket.member, now)
      if (until === now) {
        this.#place(bucket, undefined)
        return bucket
      }
      this.#place(bucket, this.#forgettable, until)
    }
    return undefined
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
    const { first } = this.#departures
    return hasRoom && first.earliest < this.#turns.earliest ? first : this.#turns
  }

  #firstDue(now: number, hasRoom: boolean): DueHeap<MemoryBucket> {
    if (!hasRoom) return this.#turns
    const first = this.#departures.firstDue(now)
    return first.earliest < this.#turns.earliest ? first : this.#turns
  }

  #heapOf(bucket: MemoryBucket, due: number): DueHeap<MemoryBucket> {
    return bucket.isTurnNext(due) ? this.#turns : this.#departures.heapFor(bucket)
  }

  #place(bucket: MemoryBucket, heap: DueHeap<MemoryBucket> | undefined, due = 0): void {
    const { heap: before } = bucket
    if (before !== heap) {
      before?.remove(bucket)
      this.#departures.update(before)
    }
    bucket.heap = heap
    heap?.set(bucket, due)
    this.#departures.update(heap)
  }
}
