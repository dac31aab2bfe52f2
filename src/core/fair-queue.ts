import { type Due, DueHeap } from './due-heap.ts'

/** One of those who share a limit. */
export interface FairChild extends Due {
  /** Its share, in proportion to those of others; above 0. */
  weight: number
  /** When its next departure begins, in virtual time. */
  tag: number
  standing: Standing
}

/**
 * `ready`: it has work, and its own limits let it go. `held`: they do not. `frozen`: it has work, and takes no part until a time.
 * `away`: it has no work, and its tag is kept. `gone`: it has no work, and virtual time has passed its tag.
 */
type Standing = 'ready' | 'held' | 'frozen' | 'away' | 'gone'

/** Tags that are forgotten at once: as many go in the long run as come. */
const MOST_FORGOTTEN = 4
/** Weights are summed in parts of one so small: a binary fraction, so that what came and went leaves nothing behind. */
export const WEIGHT_PART = 2 ** -32

/**
 * Shares one limit fairly among children: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996). Each child has a tag, the
 * virtual time at which its next departure begins; the child with the lowest tag goes next, its tag moves on by what it used in
 * proportion to its weight, and the virtual time of the queue is the tag of the child that went last.
 *
 * What a child used is counted in cost units of the shared limit, so that virtual time goes on by one with each unit where all weights
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
  /** The tag of the child that joined last; -Infinity: none has joined since the queue was at rest. */
  #joining = Number.NEGATIVE_INFINITY
  /** The largest use of one departure, in proportion to its weight. */
  #largest = 0
  /** The highest tag of all. */
  #highest = 0
  /** Of all children that take part. */
  #weights = 0
  /** By tag, and of equal tags by how long they have been here. */
  readonly #ready = new DueHeap<Child>()
  /** Those that are held or frozen, by the time until then. */
  readonly #later = new DueHeap<Child>()
  #frozen = 0
  /** Those without work whose tags virtual time has not passed. */
  readonly #away = new DueHeap<Child>()

  /** The child that goes next, if one can. */
  get next(): Child | undefined {
    return this.#ready.peek()
  }

  /** Of those that are held or frozen, the one that can go first, and when; Infinity: there is none, or none will by itself. */
  get nextLater(): Child | undefined {
    return this.#later.peek()
  }

  get laterAt(): number {
    return this.#later.earliest
  }

  /** How many children take part: those with work that are not frozen. */
  get size(): number {
    return this.#ready.size + this.#later.size - this.#frozen
  }

  /** What the weights of those amount to. */
  get weights(): number {
    return this.#weights
  }

  /** How many units all have yet to use before virtual time passes the tag of the child, as long as no child joins or leaves. */
  usedUntil({ tag }: Child): number {
    return (tag - this.#virtual) * this.#weights
  }

  /** The largest use of one departure so far, in proportion to its weight: no child is further from its share than that and its own. */
  get largest(): number {
    return this.#largest
  }

  /**
   * A child has work that had none, or is frozen or paused no more.
   *
   * @param use of its first departure
   */
  join(child: Child, use: number): void {
    this.#part(child)
    this.note(child, use)
    this.#weights += weigh(child.weight)
    this.#joining = Math.min(
      Math.max(this.#joining + use / this.#weights, this.#virtual),
      this.#virtual + this.#largest,
    )
    this.#admit(child, Math.max(child.tag, this.#joining))
  }

  /** A job of the child uses so much. */
  note({ weight }: Child, use: number): void {
    this.#largest = Math.max(this.#largest, use / weight)
  }

  /** Its own limits hold a child back that takes part, until then; Infinity: until it is released. */
  hold(child: Child, until: number): void {
    if (child.standing === 'ready') this.#ready.remove(child)
    child.standing = 'held'
    this.#later.set(child, until)
  }

  /** A child that was held may go. */
  release(child: Child): void {
    this.#later.remove(child)
    this.#admit(child, Math.max(child.tag, this.#virtual - this.#largest))
  }

  /** A child with work is frozen until then, and joins again when that is over. */
  freeze(child: Child, until: number): void {
    this.#part(child)
    this.#frozen += 1
    child.standing = 'frozen'
    this.#later.set(child, until)
  }

  /** The child departs, and used so much. It stays, ready for its next departure; `hold`, `freeze` or `leave` say otherwise. */
  serve(child: Child, use: number): void {
    this.note(child, use)
    this.#virtual = Math.max(this.#virtual, child.tag)
    this.#move(child, use / child.weight)
    this.#forget()
  }

  /** What the child used was another amount than it had been charged, or nothing, because the departure did not come about. */
  correct(child: Child, more: number): void {
    this.note(child, more)
    this.#move(child, more / child.weight)
  }

  /** The child has no more work, or is paused. */
  leave(child: Child): void {
    this.#part(child)
    this.#keep(child)
  }

  /** The child goes for good, and is forgotten. */
  drop(child: Child): void {
    this.#part(child)
    child.tag = 0
  }

  /** Another weight, which counts from the next departure on. */
  reweigh(child: Child, weight: number): void {
    if (takesPart(child)) this.#weights += weigh(weight) - weigh(child.weight)
    child.weight = weight
  }

  /** The limit had room and no child had work: all are equal again. */
  rest(): void {
    if (this.size > 0) return
    this.#virtual = Math.max(this.#virtual, this.#highest)
    this.#joining = Number.NEGATIVE_INFINITY
    this.#largest = 0
    this.#forget()
  }

  #admit(child: Child, tag: number): void {
    child.tag = tag
    this.#highest = Math.max(this.#highest, tag)
    child.standing = 'ready'
    this.#ready.set(child, tag)
  }

  #move(child: Child, by: number): void {
    child.tag += by
    this.#highest = Math.max(this.#highest, child.tag)
    if (child.standing === 'ready') this.#ready.set(child, child.tag)
    else if (child.standing === 'away' || child.standing === 'gone') this.leave(child)
  }

  #part(child: Child): void {
    if (child.standing === 'ready') this.#ready.remove(child)
    else if (child.standing === 'away') this.#away.remove(child)
    else if (child.standing !== 'gone') this.#later.remove(child)
    if (child.standing === 'frozen') this.#frozen -= 1
    if (takesPart(child)) this.#weights = this.size === 0 ? 0 : this.#weights - weigh(child.weight)
    child.standing = 'gone'
  }

  #keep(child: Child): void {
    if (child.tag <= this.#virtual) return
    child.standing = 'away'
    this.#away.set(child, child.tag)
  }

  #forget(): void {
    for (let count = 0; count < MOST_FORGOTTEN && this.#away.earliest <= this.#virtual; count++) {
      this.#part(this.#away.peek()!)
    }
  }
}

/** What a weight adds to a sum of them. */
export function weigh(weight: number): number {
  return Math.floor(weight / WEIGHT_PART + 0.5) * WEIGHT_PART
}

function takesPart({ standing }: FairChild): boolean {
  return standing === 'ready' || standing === 'held'
}
