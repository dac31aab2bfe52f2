import { changeLimit } from '../../core/bucket.ts'
import { NoLimitError } from '../../core/errors.ts'
import type { LayeredBook } from '../../core/layered-book.ts'
import { MemoryBucket } from './memory-bucket.ts'

/** The buckets with waiting jobs or with something to remember, by key; and the rules that govern them. */
export class LiveBuckets {
  #rules: LayeredBook
  readonly #buckets = new Map<string, MemoryBucket>()

  constructor(rules: LayeredBook) {
    this.#rules = rules
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
    return new MemoryBucket(key, rule)
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
    this.#buckets.set(bucket.key, bucket)
  }

  forget(bucket: MemoryBucket): void {
    this.#buckets.delete(bucket.key)
  }

  /**
   * Applies a rule book to the buckets below `head`, the literal beginning of the patterns that changed, and yields those whose
   * limit changed. A bucket that no rule governs any more
   * keeps its limit for waiting jobs; new ones are refused.
   */
  *applyRules(rules: LayeredBook, head = ''): Generator<MemoryBucket> {
    this.#rules = rules
    for (const bucket of this.#buckets.values()) {
      if (!bucket.key.startsWith(head)) continue
      const rule = rules.find(bucket.key)
      bucket.isGoverned = rule !== undefined
      if (rule === undefined || (rule.limit === bucket.limit && rule.pattern === bucket.pattern)) continue
      bucket.pattern = rule.pattern
      changeLimit(bucket, rule.limit)
      yield bucket
    }
  }

  [Symbol.iterator](): Iterator<MemoryBucket> {
    return this.#buckets.values()
  }
}
