import { DueHeap } from '../../core/due-heap.ts'
import { stand } from '../../core/total-departures.ts'
import type { Family, Member, MemoryTotal } from './family.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Turns that one call lets pass by jobs of their families. */
const MOST_PASSED_OVER = 1_000
/** Of families, those that one call lets try again. */
const MOST_RECALLED = 200

/** The places in the agenda. */
interface Places {
  readonly turns: DueHeap<MemoryBucket>
  readonly forgettable: DueHeap<MemoryBucket>
  /** Puts the bucket into the heap, and out of the one before. */
  place(bucket: MemoryBucket, heap: DueHeap<MemoryBucket> | undefined, due?: number): void
  /** Where a bucket belongs whose head departs then. */
  heapOf(bucket: MemoryBucket, due: number): DueHeap<MemoryBucket>
}

/**
 * Of a family, the buckets below one outermost total, one bucket stands in the agenda for all. Who that is, is chosen anew when it is
 * due.
 */
export class FamilyAgenda {
  readonly #agenda: Places
  /** Families that have turns, and for which one stands that needs a handler. */
  readonly #mixed = new DueHeap<Family>()
  /** Families in which some were put aside. */
  readonly #withAside = new Set<Family>()

  constructor(agenda: Places) {
    this.#agenda = agenda
  }

  /** When the first of the families is due that has turns and for which one stands that needs a handler. */
  get earliestTurn(): number {
    return this.#mixed.earliest
  }

  /** The limit, freeze or pause of a total has changed. */
  armTotal(total: MemoryTotal, now: number): void {
    stand(total, now)
    this.#armFamily(total.family, now)
  }

  /** The bucket gets another place below totals, or none. Then all are to be armed anew. */
  uproot(bucket: MemoryBucket): void {
    this.#agenda.place(bucket, undefined)
    const { member } = bucket
    if (member === undefined) return
    const { family } = member
    if (family.representative !== undefined) this.#agenda.place(family.representative, undefined)
    family.representative = undefined
    this.#mixed.remove(family)
  }

  /** A child of the family has other work than before, or other limits. */
  arm(member: Member, now: number): void {
    const { bucket } = member
    stand(member, now)
    this.#armFamily(member.family, now)
    if (bucket.heap === this.#agenda.forgettable && bucket.jobs > 0) this.#agenda.place(bucket, undefined)
  }

  /** Lets the bucket stand for its family that departs next, or any, until it is seen which that is. */
  #armFamily(family: Family, now: number): void {
    const { representative: before } = family
    const choice = family.expect(now)
    family.representative = choice?.bucket
    if (before !== undefined && before !== choice?.bucket) this.#agenda.place(before, undefined)
    if (choice === undefined) {
      this.#mixed.remove(family)
      return
    }
    const { bucket, due } = choice
    const heap = this.#agenda.heapOf(bucket, Math.max(due, now))
    this.#agenda.place(bucket, heap, due)
    if (family.turns > 0 && heap !== this.#agenda.turns) this.#mixed.set(family, due)
    else this.#mixed.remove(family)
  }

  /** Whether the bucket, which stands for its family, is the one to depart; if not, another stands for it now. */
  isChosen(bucket: MemoryBucket, family: Family, now: number): boolean {
    if (family.choose(now) === bucket) return true
    this.#armFamily(family, now)
    return false
  }

  /** Passes by a bucket of a family until handlers become free: it has none, and the others may go. */
  putAside(member: Member, now: number): void {
    const { family } = member
    member.lacksHandler = true
    family.aside.add(member)
    this.#withAside.add(family)
    this.arm(member, now)
  }

  /** Lets those try again that were put aside. */
  recall(now: number): void {
    if (this.#withAside.size === 0) return
    let left = MOST_RECALLED
    for (const family of this.#withAside) {
      for (const member of family.aside) {
        if (left-- === 0) return
        family.aside.delete(member)
        member.lacksHandler = false
        this.arm(member, now)
      }
      this.#withAside.delete(family)
    }
  }

  /** No handler is free: lets the turns of families pass by those that need one. */
  passOver(now: number): void {
    for (let count = 0; count < MOST_PASSED_OVER && this.#mixed.earliest <= now; count++) {
      const family = this.#mixed.peek()!
      const chosen = family.choose(now)
      if (chosen !== undefined && !chosen.isTurnNext(now)) this.putAside(chosen.member!, now)
      else this.#armFamily(family, now)
    }
  }
}
