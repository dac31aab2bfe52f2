import { checkKey, firstSegment } from './key.ts'

/** What the keys of one first segment use of the heap. Only `HeapUse` changes it. */
export interface SegmentUse {
  readonly segment: string
  /** Estimated. */
  bytes: number
}

/** What all keys use of the heap, and of how many first segments they are. */
export interface HeapTotal {
  /** Estimated. */
  readonly bytes: number
  readonly segments: number
}

/** What there is to read of it. */
export interface HeapReport {
  /** Bytes, estimated, of the first segment of the key, or of a pattern. @throws InvalidKeyError */
  of(key: string): number
  sum(): HeapTotal
}

/**
 * How many bytes of the heap the keys of each first segment use, as estimated by what is stored for them: the segment is what
 * tells tenants apart. A segment for which nothing is stored is forgotten. Whatever is added is to be released by the same number
 * of bytes, so sizes are computed from what never changes.
 */
export class HeapUse implements HeapReport {
  readonly #bySegment = new Map<string, SegmentUse>()
  #total = 0

  sum(): HeapTotal {
    return { bytes: this.#total, segments: this.#bySegment.size }
  }

  of(key: string): number {
    checkKey(key)
    return this.#bySegment.get(firstSegment(key))?.bytes ?? 0
  }

  /** Adds to the first segment of the key. The returned object stays that of the segment for as long as it has bytes. */
  add(key: string, bytes: number): SegmentUse {
    const segment = firstSegment(key)
    const known = this.#bySegment.get(segment)
    const use = known ?? { segment, bytes: 0 }
    if (known === undefined) this.#bySegment.set(segment, use)
    this.grow(use, bytes)
    return use
  }

  /** The same for one that has bytes: no look-up. */
  grow(use: SegmentUse, bytes: number): void {
    use.bytes += bytes
    this.#total += bytes
  }

  release(use: SegmentUse, bytes: number): void {
    use.bytes -= bytes
    this.#total -= bytes
    if (use.bytes === 0) this.#bySegment.delete(use.segment)
  }

  /** The same by the key. */
  releaseOf(key: string, bytes: number): void {
    this.release(this.#bySegment.get(firstSegment(key))!, bytes)
  }
}
