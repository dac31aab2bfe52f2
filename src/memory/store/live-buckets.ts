import { changeLimit } from '../../core/bucket.ts'
import { NoLimitError } from '../../core/errors.ts'
import type { HeapUse } from '../../core/heap-use.ts'
import type { LayeredBook } from '../../core/layered-book.ts'
import { bytesOfRule } from '../../core/rule-bounds.ts'
import { beginningOf, type RuleChange } from '../../core/rule-layers.ts'
import { forgetOver, recount } from './charges.ts'
import { Families } from './families.ts'
import { MemoryBucket } from './memory-bucket.ts'

/** Bytes that a bucket takes of the heap beside its key and its jobs, with its places in maps, measured: docs/decisions/service.md. */
const BUCKET = 496
/** And what it counts in each quota, when all of its sub-windows count. */
const QUOTA = 1_200

/** The buckets with waiting jobs or with something to remember, by key; and the rules that govern them. */
export class LiveBuckets {
  #rules: LayeredBook
  readonly #buckets = new Map<string, MemoryBucket>()
  readonly #use: HeapUse
  readonly families: Families

  constructor(rules: LayeredBook, use: HeapUse) {
    this.#rules = rules
    this.#use = use
    this.families = new Families(rules, use)
  }

  get rules(): LayeredBook {
    return this.#rules
  }

  get size(): number {
    return this.#buckets.size
  }

  get(key: string): MemoryBucket | undefined {
    return this.#buckets.get(key)
  }

  /** The live bucket of the key, or a new one, which is not live until `keep`. @throws NoLimitError */
  find(key: string): MemoryBucket {
    const known = this.#buckets.get(key)
    if (known !== undefined) return known
    const rule = this.#rules.find(key)
    if (rule === undefined) throw new NoLimitError(key)
    const bucket = new MemoryBucket(key, rule)
    this.families.place(bucket)
    return bucket
  }

  /** The same for a new job: not a bucket that no rule governs any more. */
  findOpen(key: string): MemoryBucket {
    const bucket = this.find(key)
    if (!bucket.isGoverned) throw new NoLimitError(key)
    return bucket
  }

  /** Cost units that wait, and the capacity; for a forgotten bucket, 0 and the capacity of the rule. */
  fillOf(key: string): { readonly waiting: number; readonly capacity: number } {
    const bucket = this.#buckets.get(key)
    const limit = bucket?.limit ?? this.#rules.find(key)?.limit
    return { waiting: bucket?.waiting ?? 0, capacity: limit?.capacity ?? 0 }
  }

  keep(bucket: MemoryBucket): void {
    if (bucket.isKept) return
    bucket.isKept = true
    bucket.use = this.#use.add(bucket.key, bytesOf(bucket))
    this.#buckets.set(bucket.key, bucket)
    if (bucket.member !== undefined) this.families.keepMember(bucket.member)
  }

  forget(bucket: MemoryBucket): void {
    bucket.isKept = false
    this.#buckets.delete(bucket.key)
    if (bucket.member !== undefined) this.families.release(bucket.member)
    this.#use.release(bucket.use!, bytesOf(bucket))
  }

  /**
   * Applies a rule book that was changed to the buckets that the change may be about, and yields those whose limit changed. A
   * bucket that no rule governs any more keeps its limit for waiting jobs; new ones are refused.
   */
  *applyRules(rules: LayeredBook, change: RuleChange, now: number): Generator<MemoryBucket> {
    this.#countRule(change, rules.layers.overrides.length - this.#rules.layers.overrides.length)
    this.#rules = rules
    const head = beginningOf(change)
    for (const bucket of this.#buckets.values()) {
      if (!bucket.key.startsWith(head)) continue
      const rule = rules.find(bucket.key)
      bucket.isGoverned = rule !== undefined
      if (rule === undefined || (rule.limit === bucket.limit && rule.pattern === bucket.pattern)) continue
      bucket.pattern = rule.pattern
      this.#recount(bucket, () => recount(bucket, now, () => changeLimit(bucket, rule.limit, now)))
      bucket.member?.total.queue.reweigh(bucket.member, rule.limit.weight)
      yield bucket
    }
  }

  /** Forgets quotas that the bucket remembers, where they are over. To be called before a start is counted. */
  forgetOver(bucket: MemoryBucket, now: number): void {
    if (bucket.counted !== undefined) this.#recount(bucket, () => forgetOver(bucket, now))
  }

  #recount(bucket: MemoryBucket, change: () => void): void {
    const bytes = bytesOf(bucket)
    change()
    this.#use.grow(bucket.use!, bytesOf(bucket) - bytes)
  }

  /** Rules that are set by hand are of their first segment; the others are of those who deploy the process. */
  #countRule(change: RuleChange, more: number): void {
    if (change.kind === 'load') return
    const pattern = change.kind === 'set' ? change.rule.pattern : change.pattern
    if (more > 0) this.#use.add(pattern, bytesOfRule(pattern))
    if (more < 0) this.#use.releaseOf(pattern, bytesOfRule(pattern))
  }

  [Symbol.iterator](): Iterator<MemoryBucket> {
    return this.#buckets.values()
  }
}

function bytesOf({ key, limit, counted = limit }: MemoryBucket): number {
  return BUCKET + key.length + counted.quotas.length * QUOTA
}
