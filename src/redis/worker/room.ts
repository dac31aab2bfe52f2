/**
 * A bounded number of places for buckets, given out in the order of asking. However many jobs of a bucket are inside,
 * they share one place, so a bucket with many does not keep others out. The scheduler bounds how many those are.
 */
export class Room {
  #free: number
  /** How many jobs of each bucket are inside. */
  readonly #inside = new Map<string, number>()
  /** By bucket, in the order of asking. */
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves when a job of the bucket is inside. */
  take(bucket: string): Promise<void> {
    if (this.#inside.has(bucket) || this.#free > 0) {
      this.#enter(bucket, 1)
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const others = this.#waiting.get(bucket)
      if (others === undefined) this.#waiting.set(bucket, [resolve])
      else others.push(resolve)
    })
  }

  /** A job of the bucket has left. */
  release(bucket: string): void {
    const left = this.#inside.get(bucket)! - 1
    if (left > 0) {
      this.#inside.set(bucket, left)
      return
    }
    this.#inside.delete(bucket)
    this.#free++
    this.#admit()
  }

  /** All who wait are let in, and nobody waits any more. */
  open(): void {
    this.#free = Number.POSITIVE_INFINITY
    this.#admit()
  }

  #admit(): void {
    for (const [bucket, resolves] of this.#waiting) {
      if (this.#free === 0) return
      this.#waiting.delete(bucket)
      this.#enter(bucket, resolves.length)
      for (const resolve of resolves) resolve()
    }
  }

  #enter(bucket: string, jobs: number): void {
    const inside = this.#inside.get(bucket) ?? 0
    if (inside === 0) this.#free--
    this.#inside.set(bucket, inside + jobs)
  }
}
