import { type Due, DueHeap } from './due-heap.ts'

/**
 * Shares one limit fairly among children: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996). Each child has a tag, the
 * virtual time at which its next departure begins; the child with the lowest tag goes next, its tag moves on by what it used in
 * proportion to its weight, and the virtual time of the queue is the tag of the child that went last.
 *
 * What a child used is told in microseconds of the shared limit, so that virtual time passes as fast as real time where all weights
 * are 1 and one child has work, and slower the more have.
 *
 * Three rules are not in the paper. Without them the shares are wrong where lines are short or children have limits of their own:
 *
 * - A tag stays until virtual time has passed it, also while the child has no work. Otherwise a child with one job at a time would
 *   begin anew with each, and take nearly all.
 * - Who joins begins at a virtual time that moves on with each who joins. Otherwise newcomers, always first, would starve the rest.
 * - Whom only its own limit held back may fall behind by the largest use of the family, and no further: it gets its share when it
 *   can go, and cannot save up more.
 */
export class FairQueue<Child extends FairChild> {
  /** The tag of the child that went last. It never falls. */
  #virtual = 0
  /** At which tag the last one joined. */
  #joining = 0
  /** The largest use of one departure, in proportion to its weight. */
  #largest = 0
  /** The highest tag of all. */
  #highest = 0
  /** Of all children with work. */
  #weights = 0
  /** By tag, and of equal tags by how long they have been here. */
  readonly #ready = new DueHeap<Child>()
  /** Those with work whose own limits hold them back, by time. */
  readonly #held = new DueHeap<Child>()
  /** Those without work whose tags virtual time has not passed. */
  readonly #away = new DueHeap<Child>()

  /** The child that goes next, if one can. */
  get next(): Child | undefined {
    return this.#ready.peek()
  }

  /** When a child that its own limits hold back can go, the first of them; Infinity: there is none. */
  get wakesAt(): number {
    return this.#held.earliest
  }

  /** How many children have work. */
  get size(): number {
    return this.#ready.size + this.#held.size
  }

  /** What the weights of all children with work amount to. */
  get weights(): number {
    return this.#weights
  }

  /** The largest use of one departure so far, in proportion to its weight: nobody is further from its share than that and its own. */
  get largest(): number {
    return this.#largest
  }

  /**
   * A child has work that had none, or comes back from a freeze or a pause.
   *
   * @param use of its first departure
   */
  join(child: Child, use: number): void {
    this.#away.remove(child)
    this.#note(use / child.weight)
    this.#weights += child.weight
    this.#joining = Math.min(
      Math.max(this.#joining + use / this.#weights, this.#virtual),
      this.#virtual + this.#largest,
    )
    this.#admit(child, Math.max(child.tag, this.#joining))
  }

  /** A child with work is held back by its own limits until then; Infinity: until it is released. */
  hold(child: Child, until: number): void {
    this.#ready.remove(child)
    child.standing = 'held'
    this.#held.set(child, until)
  }

  /** A child that was held may go. */
  release(child: Child): void {
    this.#held.remove(child)
    this.#admit(child, Math.max(child.tag, this.#virtual - this.#largest))
  }

  /** Releases those who may go by now, at most so many. Returns whether that were all. */
  wake(now: number, most: number): boolean {
    for (let count = 0; this.#held.earliest <= now; count++) {
      if (count === most) return false
      this.release(this.#held.peek()!)
    }
    return true
  }

  /** The child departs, and used so much. It stays, ready for its next departure; `hold` or `leave` say otherwise. */
  serve(child: Child, use: number): void {
    this.#note(use / child.weight)
    this.#virtual = Math.max(this.#virtual, child.tag)
    this.#move(child, use / child.weight)
    this.#forget()
  }

  /** What the child used was another amount than it had been charged, or nothing, because the departure did not come about. */
  correct(child: Child, more: number): void {
    if (more > 0) this.#note(more / child.weight)
    this.#move(child, more / child.weight)
  }

  /** The child has no more work, or is frozen or paused. */
  leave(child: Child): void {
    this.#ready.remove(child)
    this.#held.remove(child)
    this.#weights -= child.weight
    if (this.size === 0) this.#weights = 0
    this.#keep(child)
  }

  /** Another weight, which counts from the next departure on. */
  reweigh(child: Child, weight: number): void {
    if (child.standing === 'ready' || child.standing === 'held') this.#weights += weight - child.weight
    child.weight = weight
  }

  /** The limit had room and nobody had work: all are equal again. */
  rest(): void {
    if (this.size > 0) return
    this.#virtual = Math.max(this.#virtual, this.#highest)
    this.#largest = 0
    this.#forget()
  }

  #note(use: number): void {
    this.#largest = Math.max(this.#largest, use)
  }

  #admit(child: Child, tag: number): void {
    child.tag = tag
    child.standing = 'ready'
    this.#ready.set(child, tag)
  }

  #move(child: Child, by: number): void {
    child.tag += by
    this.#highest = Math.max(this.#highest, child.tag)
    if (child.standing === 'ready') this.#ready.set(child, child.tag)
    else if (child.standing !== 'held') this.#keep(child)
  }

  #keep(child: Child): void {
    if (child.tag > this.#virtual) {
      child.standing = 'away'
      this.#away.set(child, child.tag)
      return
    }
    this.#away.remove(child)
    child.standing = 'gone'
  }

  /** A few at a time: as many leave in the long run as come. */
  #forget(): void {
    for (let count = 0; count < FORGOTTEN_AT_ONCE && this.#away.earliest <= this.#virtual; count++) {
      const child = this.#away.peek()!
      this.#away.remove(child)
      child.standing = 'gone'
    }
  }
}

const FORGOTTEN_AT_ONCE = 4

/** One of those who share a limit. */
export interface FairChild extends Due {
  /** Its share, in proportion to those of others; above 0. */
  weight: number
  /** When its next departure begins, in virtual time. */
  tag: number
  /**
   * `ready`: it has work, and its own limits let it go. `held`: they do not. `away`: it has no work, and its tag is kept. `gone`: it has
   * no work, and virtual time has passed its tag.
   */
  standing: 'ready' | 'held' | 'away' | 'gone'
}
