import { type Bucket, changeLimit, createBucket, depart, leave, reserveDue } from '../../src/core/bucket.ts'
import type { Limit } from '../../src/core/limit.ts'
import { changeCounted } from '../../src/core/remembered.ts'
import * as usages from '../../src/core/usage.ts'
import { admit } from '../../src/core/verdict.ts'

export interface ModelJob {
  readonly id: string
  readonly cost: number
  readonly costs: usages.Costs | undefined
  readonly deadline: number
}

/** One bucket under a limit of several parts: the core and a list, as the reference for the scripts. No retries. */
export class PartsModel {
  readonly bucket: Bucket
  readonly running = new Map<string, { readonly job: ModelJob; readonly at: number; isSettled: boolean }>()
  readonly line: ModelJob[] = []
  /** Since when the head may depart. */
  #from = Number.NEGATIVE_INFINITY

  constructor(limit: Limit) {
    const running = { get: () => this.running.size }
    this.bucket = Object.defineProperty(createBucket(limit), 'placesTaken', running)
    this.bucket.usage ??= usages.createUsage(limit)
  }

  admit(job: ModelJob, now: number) {
    const verdict = admit(this.bucket, job, now, this.line)
    if (!verdict.accepted) return verdict
    if (this.line.length === 0) this.#from = now
    this.line.push(job)
    return verdict
  }

  /** When the head is due; Infinity when there is none, or no place for it. */
  get due(): number {
    const { limit, usage, next, frozenUntil } = this.bucket
    const [head] = this.line
    if (head === undefined || this.running.size >= limit.concurrency) return Number.POSITIVE_INFINITY
    const slot = Math.max(this.#from, next, frozenUntil)
    return usages.roomAt(limit, usage!, usages.chargesOf(limit, head), slot)
  }

  /** Starts the head, which is due. */
  start(now: number): { readonly id: string; readonly slot: number } {
    const { bucket, due } = this
    const job = this.line.shift()!
    const slot = reserveDue(bucket, job.cost, due, now)
    depart(bucket, job.cost, now)
    this.#changeCounted(now)
    usages.charge(this.#counted, bucket.usage!, usages.chargesOf(this.#counted, job), now)
    this.running.set(job.id, { job, at: now, isSettled: false })
    this.#from = Number.NEGATIVE_INFINITY
    return { id: job.id, slot }
  }

  /** The head has its slot after its deadline. */
  expire(): void {
    leave(this.bucket, this.line.shift()!.cost)
    if (this.line.length === 0) this.#from = Number.NEGATIVE_INFINITY
  }

  finish(id: string): void {
    this.running.delete(id)
    // A place that comes free does not move the grid.
    if (this.line.length === 0) this.#from = Number.NEGATIVE_INFINITY
  }

  settle(id: string, actual: usages.Costs): boolean {
    const run = this.running.get(id)
    if (run === undefined || run.isSettled) return false
    run.isSettled = true
    const counted = this.#counted
    for (const [unit, units] of Object.entries(actual)) {
      const index = counted.quotas.findIndex((quota) => quota.unit === unit)
      if (index === -1) continue
      usages.settle(
        counted,
        this.bucket.usage!,
        unit,
        usages.chargesOf(counted, run.job)[index]!,
        units,
        run.at,
      )
    }
    return true
  }

  changeLimit(limit: Limit, now: number): void {
    const { bucket } = this
    changeLimit(bucket, limit, now)
    bucket.usage ??= usages.createUsage(limit)
    this.#from = Number.NEGATIVE_INFINITY
  }

  get #counted(): usages.Quotas {
    return this.bucket.counted ?? this.bucket.limit
  }

  #changeCounted(now: number): void {
    changeCounted(this.bucket, this.bucket.limit, now)
    this.bucket.usage ??= usages.createUsage(this.bucket.limit)
  }
}
