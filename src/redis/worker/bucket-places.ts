import { type Pool, Semaphore } from '../../core/semaphore.ts'

/** A claim is the key of a bucket: all of its jobs share one place. */
class Places implements Pool<string> {
  readonly isInOrder = false
  /** Another job of a bucket that has a place always fits. */
  readonly isEmpty = false
  #free: number
  /** How many jobs of each bucket are inside. */
  readonly #inside = new Map<string, number>()

  constructor(count: number) {
    this.#free = count
  }

  fits(bucket: string): boolean {
    return this.#free > 0 || this.#inside.has(bucket)
  }

  take(bucket: string): void {
    const inside = this.#inside.get(bucket) ?? 0
    if (inside === 0) this.#free--
    this.#inside.set(bucket, inside + 1)
  }

  putBack(bucket: string): boolean {
    const left = this.#inside.get(bucket)! - 1
    if (left > 0) {
      this.#inside.set(bucket, left)
      return false
    }
    this.#inside.delete(bucket)
    this.#free++
    return true
  }

  open(): void {
    this.#free = Number.POSITIVE_INFINITY
  }
}

/**
 * Bounds the buckets of which a worker holds jobs. However many jobs of a bucket are inside, they share one place, so a
 * bucket with many does not keep others out. The scheduler bounds how many those are.
 */
export class BucketPlaces {
  readonly #places: Places
  readonly #semaphore: Semaphore<string>

  constructor(count: number) {
    this.#places = new Places(count)
    this.#semaphore = new Semaphore(this.#places)
  }

  /** Resolves when a job of the bucket is inside. */
  take(bucket: string): Promise<void> {
    if (this.#semaphore.tryTake(bucket)) return Promise.resolve()
    return new Promise((resolve) => void this.#semaphore.take(bucket, resolve))
  }

  /** Another job of a bucket comes in, whether or not there is a place: it follows one that has. */
  enter(bucket: string): void {
    this.#places.take(bucket)
  }

  /** A job of the bucket has left. */
  release(bucket: string): void {
    this.#semaphore.release(bucket)
  }

  /** Lets in all that wait, and all that come. */
  open(): void {
    this.#places.open()
    this.#semaphore.serve()
  }
}
