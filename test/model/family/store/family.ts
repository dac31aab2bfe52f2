// As `settle_all` in src/redis/scripts/lib/total.lua, `keep_chain` in chain.lua, `sync` in summed.lua, and gone.lua.
import { setup as handoffSetup } from '../../configs.ts'
import type { Cells } from '../../store/cells.ts'
import { Shard } from '../../store/shard.ts'
import { type Ends, shiftCells } from '../../store/times.ts'
import type { FamilyMutantName } from '../mutants.ts'
import { type FamilySetup, limitsOf } from '../setup.ts'
import { BucketPlace } from './bucket-place.ts'
import { settle } from './share.ts'
import { addSums, type Child, clearPlace, NO_SUMS, Total } from './total.ts'
import { lastEnd } from './total-quotas.ts'

/** A job, by its number in the setup, and in its bucket. */
export interface Known {
  readonly job: number
  readonly bucket: number
  readonly shard: Shard
  readonly index: number
}

/** The buckets and totals of one shard. A bucket is that of the model of one bucket, with a place below totals. */
export class Family {
  static sizeFor(setup: FamilySetup): number {
    const shards = setup.buckets.map((_, bucket) => Shard.sizeFor(setupOf(setup, bucket)))
    const places = setup.buckets.length * BucketPlace.sizeFor(setup.totals.length)
    const totals = setup.totals.reduce((sum, total) => sum + Total.sizeFor(total, setup), 0)
    return shards.reduce((sum, size) => sum + size, 0) + totals + places
  }

  readonly setup: FamilySetup
  readonly ends: Ends
  readonly cells: Cells
  readonly shards: readonly Shard[]
  readonly totals: readonly Total[]
  readonly places: readonly BucketPlace[]
  /** By their numbers in the setup. */
  readonly jobs: readonly Known[]
  /** Totals that this call has changed. */
  readonly #touched = new Set<Total>()
  readonly #unwritten = new Set<Total>()
  /** Those that are written when this call ends. */
  readonly #written = new Set<Total>()
  /** What is written of the next slots of totals that this call has read as earlier. */
  readonly #nexts = new Map<Total, number>()
  /** The claim hands over what departs by then; undefined: no claim. */
  horizon: number | undefined
  /** Who was frozen joins now. */
  isWaking = false
  /** A bucket was chosen below the outermost total, and its head is handed over. */
  onChoice: ((chosen: BucketPlace) => void) | undefined

  constructor(cells: Cells, base: number, setup: FamilySetup, ends: Ends) {
    this.setup = setup
    this.ends = ends
    this.cells = cells
    let at = base
    const next = (size: number) => {
      at += size
      return at - size
    }
    this.shards = setup.buckets.map((_, bucket) => {
      const own = setupOf(setup, bucket)
      return new Shard(cells, next(Shard.sizeFor(own)), own, ends)
    })
    const totals: Total[] = []
    const above = (key: string) =>
      totals.filter(({ name }) => key !== name && key.startsWith(name)).toReversed()
    for (const total of setup.totals) {
      const [parent] = above(total.key)
      totals.push(
        new Total(total, { cells, base: next(Total.sizeFor(total, setup)), shard: this.shards[0]!, parent }),
      )
    }
    this.totals = totals
    const size = BucketPlace.sizeFor(totals.length)
    this.places = setup.buckets.map((bucket, index) => {
      const shard = this.shards[index]!
      return new BucketPlace(bucket, {
        family: this,
        cells,
        base: next(size),
        shard,
        totals: above(bucket.key),
      })
    })
    this.jobs = setup.jobs.map(({ of }, job) => ({
      job,
      bucket: of,
      shard: this.shards[of]!,
      index: setup.jobs.slice(0, job).filter((other) => other.of === of).length,
    }))
  }

  has(mutant: FamilyMutantName): boolean {
    return this.setup.mutants.has(mutant)
  }

  clear(): void {
    for (const shard of this.shards) shard.clear()
    for (const total of this.totals) this.#clear(total)
    for (const place of this.places) this.#forget(place)
  }

  #clear(total: Total): void {
    total.clear()
    total.marks.clear(this)
  }

  /** The number in the setup of a job of that bucket. */
  numberOf(bucket: number, index: number): number {
    return this.jobs.findIndex((known) => known.bucket === bucket && known.index === index)
  }

  shardOf(child: Child): Shard {
    return (child as BucketPlace).shard
  }

  /** The bucket, and the totals above it that have a parent: each is a child of the next. */
  *pathOf(place: BucketPlace): Generator<Child> {
    yield place
    for (const total of place.totals) if (total.parent !== undefined) yield total
  }

  hasChildren({ children }: Total): boolean {
    return children.some((child) =>
      child instanceof Total ? child.bucket.exists === 1 : this.shardOf(child).bucket.exists === 1,
    )
  }

  /** What the totals have as the sum of what the buckets below them hold. */
  count(): void {
    for (const place of this.places) place.sums = place.held
    this.#sum()
  }

  /** A call begins: the totals are read. */
  begin(): void {
    this.count()
    this.#nexts.clear()
    for (const total of this.totals) {
      const { next } = total.bucket
      total.forgetOldTime()
      if (total.bucket.next !== next) this.#nexts.set(total, next)
    }
    this.#written.clear()
    this.horizon = undefined
  }

  #sum(): void {
    for (const total of this.totals) {
      const below = this.places.filter(({ totals }) => totals.includes(total))
      total.sums = below.map(({ sums }) => sums).reduce(addSums, NO_SUMS)
    }
  }

  /** The bucket is written: its totals count what it holds now. */
  sync(place: BucketPlace): void {
    const { held } = place
    if (JSON.stringify(held) === JSON.stringify(place.sums)) return
    place.sums = held
    this.#sum()
    for (const total of place.totals) this.touch(total)
  }

  touch(total: Total): void {
    this.#touched.add(total)
  }

  /** Where all that was changed stands, from the inside out. `isLast`: when the claim has made all its choices. */
  settleAll(isLast: boolean): void {
    if (isLast) for (const total of this.#unwritten) this.#touched.add(total)
    while (this.#touched.size > 0) {
      const [longest] = [...this.#touched].sort((one, other) => other.name.length - one.name.length)
      this.#touched.delete(longest!)
      if (isLast || longest!.parent !== undefined) settle(this, longest!, isLast)
      this.#unwritten.add(longest!)
      this.#written.add(longest!)
    }
    if (isLast) this.#unwritten.clear()
  }

  /** A call ends: what it has changed is written. */
  end(): void {
    for (const place of this.places) this.sync(place)
    this.settleAll(true)
    for (const [total, next] of this.#nexts) if (!this.#written.has(total)) total.bucket.next = next
  }

  /** The total is looked below with the tag by which it stands in `ready`. */
  takeTag(total: Total): void {
    if (total.place.tag !== total.place.readyTag) this.touch(total)
    total.place.tag = total.place.readyTag
  }

  /** A new bucket keeps the totals above it, or begins them. */
  keep(place: BucketPlace): void {
    if (place.shard.bucket.exists === 1) return
    this.keepAll(place.totals)
  }

  /** @param totals the innermost first */
  keepAll(totals: readonly Total[]): void {
    for (const total of totals.toReversed()) {
      if (total.bucket.exists === 0) this.#clear(total)
      total.bucket.exists = 1
      this.touch(total)
    }
  }

  /** Forgets idle buckets whose tags virtual time has passed, and totals below which there is nothing. */
  forgetIdle(): void {
    const gone: BucketPlace[] = []
    for (const child of this.#idle()) {
      if (child instanceof Total) this.#forgetTotal(child)
      else {
        const until = this.#tagUntil(child)
        if (until <= 0) gone.push(child)
        else child.place.idleAt = until
      }
    }
    for (const place of gone) {
      this.#forget(place)
      this.touch(place.parent)
    }
  }

  #idle(): (Total | BucketPlace)[] {
    const idleAt = (child: Total | BucketPlace) =>
      child instanceof Total ? child.bucket.idleAt : child.place.idleAt
    const found = [...this.totals, ...this.places].filter((child) => idleAt(child) <= 0)
    return found.sort((one, other) => idleAt(one) - idleAt(other) || (one.name < other.name ? -1 : 1))
  }

  #forgetTotal(total: Total): void {
    const { bucket, parent } = total
    const until = Math.max(bucket.next, bucket.frozen, lastEnd(total))
    const isHeld = bucket.paused === 1 && !this.has('pause-forgotten')
    if (isHeld || this.hasChildren(total)) bucket.idleAt = this.ends.far
    else if (until > 0) bucket.idleAt = until
    else {
      const tagged = parent === undefined ? 0 : this.#tagUntil(total)
      if (tagged > 0) bucket.idleAt = tagged
      else {
        this.#clear(total)
        this.#touched.delete(total)
        if (parent !== undefined) this.touch(parent)
      }
    }
  }

  #forget(place: BucketPlace): void {
    place.shard.forgetBucket()
    place.forgetSlots()
    clearPlace(place.place, this.ends.far, place.parent.bucket.virtual)
  }

  #tagUntil({ place, parent }: Child): number {
    const { bucket, takers, sums, weights, limit } = parent!
    const ahead = place.tag - bucket.virtual
    if (ahead <= 0 || (takers.length === 0 && sums.handed === 0 && bucket.next <= 0)) return 0
    const { tagAsked, tagAskedBy, moment } = this.setup.durations
    const until = Math.min((ahead / this.setup.tagParts) * weights * limit.interval, tagAskedBy)
    return Math.ceil(Math.max(tagAsked, until) / moment) * moment
  }

  shift(by: number): void {
    for (const shard of this.shards) shard.shift(by)
    for (const { use } of this.totals) use.shift(by)
    for (const { times } of [...this.totals, ...this.places]) shiftCells(this.cells, times, by, this.ends)
  }
}

/** Of one bucket, in the words of the model of one bucket. */
function setupOf({ buckets, jobs, durations, lookAhead }: FamilySetup, bucket: number) {
  return handoffSetup(buckets[bucket]!.key, {
    jobs: jobs.filter((job) => job.of === bucket),
    limits: limitsOf(buckets[bucket]!),
    durations,
    lookAhead,
    keep: jobs.length,
  })
}
