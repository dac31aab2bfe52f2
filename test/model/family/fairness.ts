import { dueOf as dueOfBucket, handedUnits, peekHead, waitingUnits } from '../store/line.ts'
import { windowOf } from '../store/verbs/claim.ts'
import type { FamilyWorld } from './actors/world.ts'
import type { FamilySetup } from './setup.ts'
import type { BucketPlace } from './store/bucket-place.ts'
import { departureBelow } from './store/share.ts'
import { type Child, Total } from './store/total.ts'

/**
 * L12, by the decisions of a total, which has two children: from any moment on from which both could go, what each got, for its weight,
 * differs by no more than the largest job of each and the largest of the family. A job that comes back without having started got
 * nothing.
 */
export class Fairness {
  static sizeFor({ totals, jobs }: FamilySetup): number {
    return totals.length * (2 + jobs.length)
  }

  readonly #world: FamilyWorld
  readonly #base: number

  constructor(world: FamilyWorld, base: number) {
    this.#world = world
    this.#base = base
    for (const total of world.family.totals)
      if (total.children.length > 2) throw new Error(`expected two children of ${total.name}`)
    world.family.onChoice = (chosen) => this.#judge(chosen)
  }

  get #stride(): number {
    return 2 + this.#world.setup.jobs.length
  }

  /** How much more the child got than the other one, in parts of a cost unit. */
  #aheadOf(total: number, child: number): number {
    return this.#base + total * this.#stride + child
  }

  /** By how much the other one's lead shrank when the job was chosen. */
  #takenFor(total: number, job: number): number {
    return this.#base + total * this.#stride + 2 + job
  }

  #judge(chosen: BucketPlace): void {
    const { family, setup } = this.#world
    const shares = this.#sharesOf(chosen)
    for (const [child, share] of shares) {
      const total = child.parent!
      const at = family.totals.indexOf(total)
      const place = total.children.indexOf(child)
      const other = total.children[1 - place]
      if (other === undefined) continue
      if (!this.#couldGo(other)) {
        this.#beginAnew(at)
        continue
      }
      const { cells } = this.#world
      const [own, others] = [this.#aheadOf(at, place), this.#aheadOf(at, 1 - place)]
      const taken = Math.min(share, cells[others]!)
      cells[own]! += share
      cells[others]! -= taken
      cells[this.#takenFor(at, this.#headOf(chosen))] = taken
      const parts = setup.tagParts
      const most = this.#largestOf(child) + this.#largestOf(other)
      const largest = Math.max(this.#largestOf(child), this.#largestOf(other))
      if (cells[own]! > (most + largest) * parts) this.#world.breaks('L12 fair')
    }
  }

  /** The job came back without having started. */
  giveBack(job: number): void {
    const { family, cells } = this.#world
    for (const [child, share] of this.#sharesOf(family.places[this.#world.known(job).bucket]!, job)) {
      const at = family.totals.indexOf(child.parent!)
      const place = child.parent!.children.indexOf(child)
      const [own, others, taken] = [
        this.#aheadOf(at, place),
        this.#aheadOf(at, 1 - place),
        this.#takenFor(at, job),
      ]
      cells[own] = Math.max(0, cells[own]! - share)
      cells[others]! += cells[taken]!
      cells[taken] = 0
    }
  }

  /** A bucket or, by its place behind those, a total was frozen or paused, or is no longer: it joins anew. */
  interrupt(held: number): void {
    const { places, totals } = this.#world.family
    const child: Child = places[held] ?? totals[held - places.length]!
    if (child.parent !== undefined) this.#beginAnew(totals.indexOf(child.parent))
  }

  /** The job starts, and does not come back any more. */
  keep(job: number): void {
    for (const total of this.#world.family.totals.keys()) this.#world.cells[this.#takenFor(total, job)] = 0
  }

  #headOf({ shard }: BucketPlace): number {
    const { family, ends } = this.#world
    return family.numberOf(family.shards.indexOf(shard), peekHead(shard, ends.far)[0])
  }

  *#sharesOf(place: BucketPlace, job = this.#headOf(place)): Generator<readonly [Child, number]> {
    const { cost } = this.#world.setup.jobs[job]!
    for (const child of this.#world.family.pathOf(place))
      yield [child, (cost * this.#world.setup.tagParts) / child.weight]
  }

  /** Of its jobs, for its weight. */
  #largestOf(child: Child): number {
    const { setup, family } = this.#world
    const isBelow = (bucket: number) =>
      child instanceof Total ? family.places[bucket]!.totals.includes(child) : family.places[bucket] === child
    return Math.max(0, ...setup.jobs.filter(({ of }) => isBelow(of)).map(({ cost }) => cost)) / child.weight
  }

  #couldGo(child: Child): boolean {
    const { family, setup } = this.#world
    if (child instanceof Total) {
      return (
        departureBelow(family, child).due <= setup.lookAhead &&
        child.children.some((below) => this.#couldGo(below))
      )
    }
    const { shard } = child as BucketPlace
    const waits = waitingUnits(shard) > handedUnits(shard) + shard.bucket.grantedCost
    return waits && shard.handed.count < windowOf(shard) && dueOfBucket(shard) <= setup.lookAhead
  }

  #beginAnew(total: number): void {
    this.#world.cells.fill(0, this.#aheadOf(total, 0), this.#aheadOf(total + 1, 0))
  }
}
