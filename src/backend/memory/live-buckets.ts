import { changeLimit } from '../../core/bucket.ts'
import { NoLimitError } from '../../core/errors.ts'
import type { RuleBook } from '../../core/rule-book.ts'
import { MemoryBucket } from './memory-bucket.ts'

/** The buckets that somebody waits in, or that remember something, by key; and the rules that govern them. */
export class LiveBuckets {
  readonly rules: RuleBook
  readonly #buckets = new Map<string, MemoryBucket>()

  constructor(rules: RuleBook) {
    this.rules = rules
  }

  get(key: string): MemoryBucket | undefined {
    return this.#buckets.get(key)
  }

  /** The live bucket of the key, or a new one that nobody knows until it is kept. @throws NoLimitError */
  find(key: string): MemoryBucket {
    return this.#buckets.get(key) ?? new MemoryBucket(key, this.rules.resolve(key))
  }

  /** The same for a newcomer: not a bucket that no rule governs any more. */
  findOpen(key: string): MemoryBucket {
    const bucket = this.find(key)
    if (!bucket.isGoverned) throw new NoLimitError(key)
    return bucket
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
   * Holds every bucket to the rule that governs it now, and answers those whose limit changed. One that no rule
   * governs any more keeps its limit for those who wait; newcomers are refused.
   */
  *applyRules(): Generator<MemoryBucket> {
    for (const bucket of this.#buckets.values()) {
      const rule = this.rules.find(bucket.key)
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
