import * as bucketCore from '../../core/bucket.ts'
import type { Agenda } from './agenda.ts'
import type { LiveBuckets } from './live-buckets.ts'

/** What keeps the jobs of a bucket from departing. Times are microseconds. */
export class BucketHolds {
  readonly #buckets: LiveBuckets
  readonly #agenda: Agenda

  constructor(buckets: LiveBuckets, agenda: Agenda) {
    this.#buckets = buckets
    this.#agenda = agenda
  }

  /** No departures of the bucket before `until`; a shorter freeze never shortens a longer one. Returns the end. */
  freeze(key: string, until: number): number {
    const bucket = this.#buckets.find(key)
    bucketCore.freeze(bucket, until)
    this.#buckets.keep(bucket)
    this.#agenda.arm(bucket)
    return bucket.frozenUntil
  }

  /** Departures go on at the rate. Returns whether the bucket was frozen. */
  unfreeze(key: string, now: number): boolean {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined || bucket.frozenUntil <= now) return false
    bucketCore.unfreeze(bucket)
    this.#agenda.arm(bucket, now)
    return true
  }

  /** No departures of the bucket until `resume`. */
  pause(key: string): void {
    const bucket = this.#buckets.find(key)
    bucket.paused = true
    this.#buckets.keep(bucket)
    this.#agenda.arm(bucket)
  }

  resume(key: string, now: number): void {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return
    bucket.paused = false
    this.#agenda.arm(bucket, now)
  }
}
