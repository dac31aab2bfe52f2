import { changeLimit, forgettableAt, isIdle } from '../../core/bucket.ts'
import { DueHeap } from '../../core/due-heap.ts'
import type { HeapUse } from '../../core/heap-use.ts'
import type { LayeredBook } from '../../core/layered-book.ts'
import type { TotalRule } from '../../core/rule-book.ts'
import { beginningOf, type RuleChange } from '../../core/rule-layers.ts'
import { stand } from '../../core/total-departures.ts'
import { recount } from './charges.ts'
import { type IdleTotal, Member, MemoryTotal, tagUntil } from './family.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Bytes of the heap that a total takes, and the place of a bucket below it, measured: docs/decisions/service.md. */
const TOTAL = 2_200
const MEMBER = 160
/** Totals that one call forgets. */
const MOST_FORGOTTEN = 1_000

/** The totals that live, by path, and the places of buckets below them. */
export class Families {
  #rules: LayeredBook
  readonly #totals = new Map<string, MemoryTotal>()
  /** Those without children. */
  readonly #idle = new DueHeap<IdleTotal>()
  readonly #use: HeapUse

  constructor(rules: LayeredBook, use: HeapUse) {
    this.#rules = rules
    this.#use = use
  }

  /** When a total may be forgotten. */
  get earliest(): number {
    return this.#idle.earliest
  }

  /** The live total of this path, such as `stripe/`. */
  get(path: string): MemoryTotal | undefined {
    return this.#totals.get(path)
  }

  /** All live totals. The walk ends although others come and go meanwhile. */
  *each(): Generator<MemoryTotal> {
    let left = this.#totals.size
    for (const total of this.#totals.values()) {
      if (left-- === 0) return
      yield total
    }
  }

  /** The live total of this path, or a new one, which does not live until `keep`; undefined: no rule has it. */
  find(path: string): MemoryTotal | undefined {
    const total = this.#totals.get(path) ?? this.#innermost(this.#rules.totalsOf(path.slice(0, -1)))
    return total?.path === path ? total : undefined
  }

  /** Gives the bucket its place below the totals of its key. It counts once it is kept. */
  place(bucket: MemoryBucket): void {
    const total = this.#innermost(this.#rules.totalsOf(bucket.key))
    if (total !== undefined) bucket.member = new Member(bucket, total)
  }

  /** The bucket is kept. */
  keepMember({ total, bucket }: Member): void {
    this.#use.grow(bucket.use!, MEMBER)
    this.keep(total)
    total.children++
    this.#idle.remove(total.idle)
  }

  /** Keeps a total as long as it has children, or anything else to remember. */
  keep(total: MemoryTotal): void {
    if (this.#totals.has(total.path)) return
    this.#totals.set(total.path, total)
    this.#use.add(total.path, bytesOf(total))
    this.#rest(total)
    this.#root(total)
  }

  /** The bucket is forgotten. */
  release({ total, bucket }: Member): void {
    this.#use.release(bucket.use!, MEMBER)
    this.#lose(total)
  }

  /** Something of the total was changed that may have kept it. */
  rested(total: MemoryTotal): void {
    if (total.children === 0) this.#rest(total)
  }

  /** Forgets totals below which nothing lives, when they equal new ones. */
  forget(now: number): void {
    for (let count = 0; count < MOST_FORGOTTEN && this.#idle.earliest <= now; count++) {
      const { total } = this.#idle.peek()!
      const until = tagUntil(total, now)
      if (total.bucket.paused) this.#idle.remove(total.idle)
      else if (!isIdle(total.bucket, now)) this.#rest(total)
      else if (until > now) this.#idle.set(total.idle, until)
      else {
        this.#remove(total)
        const { parent } = total
        if (parent !== undefined) this.#lose(parent)
      }
    }
  }

  /**
   * Applies a rule book that was changed to the limits of the totals that the change may be about.
   *
   * @returns those whose limit is another
   */
  apply(rules: LayeredBook, change: RuleChange, now: number): MemoryTotal[] {
    this.#rules = rules
    const changed: MemoryTotal[] = []
    for (const total of this.#concerned(change)) {
      const rule = rules.totalsOf(keyOf(total)).find(({ path }) => path === total.path)
      if (rule === undefined || rule.limit === total.bucket.limit) continue
      total.pattern = rule.pattern
      recount(total.bucket, now, () => changeLimit(total.bucket, rule.limit, now))
      total.parent?.queue.reweigh(total, rule.limit.weight)
      total.weight = rule.limit.weight
      changed.push(total)
    }
    return changed
  }

  /** Whether the totals above the bucket are others than those of which the rules tell. */
  isMisplaced({ key, member }: MemoryBucket): boolean {
    return !this.#isChain(key, member?.total)
  }

  /** Gives new places to the buckets that are misplaced after a change, all of them, and to the totals that are. */
  move(misplaced: readonly MemoryBucket[], change: RuleChange, now: number): void {
    const left = new Set<MemoryTotal>()
    for (const bucket of misplaced) {
      const { member } = bucket
      if (member === undefined) continue
      left.add(member.total)
      member.withdraw()
      this.release(member)
    }
    const stale = [...this.#concerned(change)].filter((total) => this.#isElsewhere(total))
    for (const total of stale) {
      if (total.parent !== undefined) left.add(total.parent)
      this.#uproot(total)
    }
    // From the outside in: what is above one is where it belongs by then. Its count, pace and freeze go on where it stands now.
    for (const total of stale.toSorted((one, other) => one.path.length - other.path.length)) {
      total.parent = this.#innermost(this.#rules.totalsOf(keyOf(total)).slice(0, -1))
      this.#root(total)
    }
    for (const bucket of misplaced) {
      this.place(bucket)
      if (bucket.member === undefined) continue
      this.keepMember(bucket.member)
      bucket.member.settle()
    }
    // Those above them do not know yet that they have fewer.
    for (const total of left) stand(total, now)
  }

  *#concerned(change: RuleChange): Generator<MemoryTotal> {
    const head = beginningOf(change)
    for (const total of this.#totals.values()) if (total.path.startsWith(head)) yield total
  }

  /** Whether these are the totals of the key, from the innermost on. */
  #isChain(key: string, innermost: MemoryTotal | undefined): boolean {
    let above = innermost
    for (const { path } of this.#rules.totalsOf(key).toReversed()) {
      if (above?.path !== path) return false
      above = above.parent
    }
    return above === undefined
  }

  /** Whether it is below other totals than the rules say. A total without a rule stays where it is until it is forgotten. */
  #isElsewhere(total: MemoryTotal): boolean {
    const ofRules = this.#rules.totalsOf(keyOf(total))
    return ofRules.at(-1)?.path === total.path && !this.#isChain(keyOf(total), total)
  }

  /** Its parent counts it. */
  #root({ parent }: MemoryTotal): void {
    if (parent === undefined) return
    this.keep(parent)
    parent.children++
    this.#idle.remove(parent.idle)
  }

  /** The total stands alone. What was below it has left before. */
  #uproot(total: MemoryTotal): void {
    const { parent } = total
    if (parent === undefined) return
    parent.queue.drop(total)
    this.#lose(parent)
    total.parent = undefined
  }

  /** One child less. */
  #lose(total: MemoryTotal): void {
    total.children--
    if (total.children === 0) this.#rest(total)
  }

  #remove(total: MemoryTotal): void {
    this.#idle.remove(total.idle)
    this.#totals.delete(total.path)
    this.#use.releaseOf(total.path, bytesOf(total))
  }

  #rest(total: MemoryTotal): void {
    this.#idle.set(total.idle, forgettableAt(total.bucket))
  }

  /** Of the totals of a key, the outermost first. */
  #innermost(totals: readonly TotalRule[]): MemoryTotal | undefined {
    let parent: MemoryTotal | undefined
    for (const { pattern, path, limit } of totals) {
      parent = this.#totals.get(path) ?? new MemoryTotal({ pattern, path, limit, parent })
    }
    return parent
  }
}

/** The key that its path is made of, which belongs to it. */
function keyOf({ path }: MemoryTotal): string {
  return path.slice(0, -1)
}

function bytesOf({ path }: MemoryTotal): number {
  return TOTAL + path.length
}
