import * as bucketCore from '../../core/bucket.ts'
import { NoLimitError } from '../../core/errors.ts'
import { isTotal } from '../../core/key.ts'
import type { Agenda } from './agenda.ts'
import type { MemoryTotal } from './family.ts'
import type { LiveBuckets } from './live-buckets.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** What keeps the jobs of a bucket from departing, or those of a family, which is named by a path such as `stripe/`. Times are microseconds. */
export class BucketHolds {
  readonly #buckets: LiveBuckets
  readonly #agenda: Agenda

  constructor(buckets: LiveBuckets, agenda: Agenda) {
    this.#buckets = buckets
    this.#agenda = agenda
  }

  /** No departures before `until`; a shorter freeze never shortens a longer one. Returns the end. @throws NoLimitError */
  freeze(name: string, until: number, now: number): number {
    const held = this.#hold(name)
    const bucket = coreOf(held)
    bucketCore.freeze(bucket, until)
    this.#arm(held, now)
    return bucket.frozenUntil
  }

  /** Departures go on at the rate. Returns whether it was frozen. */
  unfreeze(name: string, now: number): boolean {
    const held = this.#find(name)
    if (held === undefined || coreOf(held).frozenUntil <= now) return false
    bucketCore.unfreeze(coreOf(held))
    this.#arm(held, now, now)
    return true
  }

  /** No departures until `resume`. @throws NoLimitError */
  pause(name: string, now: number): void {
    const held = this.#hold(name)
    coreOf(held).paused = true
    this.#arm(held, now)
  }

  resume(name: string, now: number): void {
    const held = this.#find(name)
    if (held === undefined) return
    coreOf(held).paused = false
    this.#arm(held, now, now)
  }

  #find(name: string): MemoryBucket | MemoryTotal | undefined {
    return isTotal(name) ? this.#buckets.families.get(name) : this.#buckets.get(name)
  }

  /** It lives from now on, until nothing of it is to be remembered. */
  #hold(name: string): MemoryBucket | MemoryTotal {
    if (!isTotal(name)) {
      const bucket = this.#buckets.find(name)
      this.#buckets.keep(bucket)
      return bucket
    }
    const total = this.#buckets.families.find(name)
    if (total === undefined) throw new NoLimitError(name)
    this.#buckets.families.keep(total)
    return total
  }

  #arm(held: MemoryBucket | MemoryTotal, now: number, from?: number): void {
    if ('bucket' in held) {
      this.#agenda.families.armTotal(held, now)
      this.#buckets.families.rested(held)
    } else this.#agenda.arm(held, now, from)
  }
}

function coreOf(held: MemoryBucket | MemoryTotal): bucketCore.Bucket {
  return 'bucket' in held ? held.bucket : held
}
