import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { monotonicNow } from '../core/clock.ts'
import type { HeapReport } from '../core/heap-use.ts'
import { firstSegment } from '../core/key.ts'
import { ANONYMOUS, OPEN, type Principal } from './access.ts'
import { memoryShare, type Problem, reducedCapacity, tokenQuota } from './problem.ts'
import { Quota } from './quota.ts'

const RESOLUTION_MS = 10
/** The same in microseconds, as the window. */
const RESOLUTION = 10_000
const WINDOW = 500_000
const PERCENTILE = 90
const NANOSECONDS_PER_MS = 1e6
const MEBIBYTE = 1_048_576
/** Until jobs may have ended, or the collector has come round. */
const RETRY_AFTER_S = 5
/** Within its part a segment may have so many times what is free. */
const MOST_OF_FREE = 4

interface Limits {
  readonly maxInFlight: number
  readonly maxTokenShare: number
  readonly maxLagMs: number
  readonly maxHeapShare: number
  readonly heapReserveMb: number
  readonly maxSegmentShare: number
}

/** How much of the heap is in use, and how much V8 allows, in bytes. */
export interface HeapReading {
  readonly used: number
  readonly limit: number
}

/** Replacements for the measurements of this process. */
interface Gauges {
  readonly lagMs?: (() => number) | undefined
  readonly heap?: (() => HeapReading) | undefined
}

/**
 * Refuses requests with 503 while the process is overloaded, so that those in flight finish. A full line is different: that is 429 for
 * one key.
 */
export class OverloadGuard {
  readonly #limits: Limits
  readonly #lagMs: () => number
  readonly #heap: () => HeapReading
  readonly #inFlight: Quota
  readonly #used: HeapReport

  constructor(limits: Limits, used: HeapReport, { lagMs = watchLag(), heap = readHeap }: Gauges = {}) {
    this.#limits = limits
    this.#used = used
    const { maxInFlight: most, maxTokenShare } = limits
    this.#inFlight = new Quota({ most, perToken: Math.ceil(most * maxTokenShare) })
    this.#lagMs = lagMs
    this.#heap = heap
  }

  /** @throws Problem 503 while the event loop is late */
  assertCalm(): void {
    if (this.#lagMs() > this.#limits.maxLagMs) throw reducedCapacity('the process is overloaded')
  }

  /**
   * Counts the request as in flight until its answer has been sent.
   *
   * @param whenSent calls back when that is so. Absent: when there is an answer
   * @throws Problem 503, or 429 where only the share of this token is exhausted
   */
  async run<Answer>(
    call: () => Promise<Answer>,
    principal: Principal = ANONYMOUS,
    whenSent: (callback: () => void) => void = (callback) => callback(),
  ): Promise<Answer> {
    this.#assertPlace(principal)
    this.#inFlight.take(principal)
    try {
      return await call()
    } finally {
      whenSent(() => this.#inFlight.putBack(principal))
    }
  }

  /**
   * Reads a body without counting the request as in flight; the server bounds the time of it.
   *
   * @throws Problem 503 or 429
   */
  async whileReading<Body>(read: () => Promise<Body>, principal: Principal = ANONYMOUS): Promise<Body> {
    this.#inFlight.putBack(principal)
    try {
      const body = await read()
      this.#assertPlace(principal)
      return body
    } finally {
      this.#inFlight.take(principal)
    }
  }

  #assertPlace(principal: Principal): void {
    const exhausted = this.#inFlight.exhausted(principal)
    if (exhausted === undefined) return
    const detail = 'too many requests in flight'
    throw exhausted === 'all' || principal === OPEN ? reducedCapacity(detail) : tokenQuota(detail)
  }

  /**
   * For requests that take memory and keep it: whatever adds a job, a bucket, a meter or a rule. Reads, cancels and removals are
   * not limited.
   *
   * Where the key is known, also the share of its first segment counts: see `shareRefusal`.
   *
   * @throws Problem 503, or 429 where only the share of this segment is exhausted
   */
  assertRoom(key?: string): void {
    if (key === undefined) {
      this.#freeBytes()
      return
    }
    const refusal = this.shareRefusal(key)
    if (refusal !== undefined) throw refusal
  }

  /**
   * The refusal of a request for more memory where the first segment of the key has as much as one may have; undefined where it
   * may have more.
   *
   * A segment gets no more while it has more than its share of what it has and what is free: a dynamic threshold (Choudhury and
   * Hahne, IEEE/ACM Transactions on Networking 6, 1998). So one that takes what it can leaves room, whatever it fills the heap
   * with. But what one may have shrinks as others take: so each may have the part that n segments could all have beside one more,
   * and the threshold for that part is far higher. It is still one, since others may have taken more than theirs before.
   *
   * @throws Problem 503
   */
  shareRefusal(key: string): Problem | undefined {
    const free = this.#freeBytes()
    const own = this.#used.of(key)
    const { maxSegmentShare: share } = this.#limits
    if (own <= (own + free) * share) return undefined
    const { bytes, segments } = this.#used.sum()
    // A share that is set lower than the part holds for one that is alone, so for each of several.
    if (own <= (bytes + free) * Math.min(share, 1 / (segments + 1)) && own <= MOST_OF_FREE * free)
      return undefined
    return memoryShare(firstSegment(key), RETRY_AFTER_S)
  }

  /** How much of the heap all may still take. @throws Problem 503 where it is nothing */
  #freeBytes(): number {
    const { maxHeapShare, heapReserveMb } = this.#limits
    const { used, limit } = this.#heap()
    const free = Math.min(limit * maxHeapShare, limit - heapReserveMb * MEBIBYTE) - used
    if (free < 0) throw reducedCapacity('the process is almost out of memory', RETRY_AFTER_S)
    return free
  }
}

/**
 * Returns a function for the 90th percentile of the event loop's lag in the last full half second. One long tick is no
 * overload, and refusals end with the overload. Measuring begins with the first call and keeps no process alive.
 */
function watchLag(now: () => number = monotonicNow): () => number {
  let delays: ReturnType<typeof monitorEventLoopDelay> | undefined
  let since = 0
  let lagMs = 0
  return () => {
    if (delays === undefined) {
      delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
      delays.enable()
      since = now()
    }
    const passed = now() - since
    if (passed < WINDOW) return lagMs
    // After a long time without calls the last measurement is outdated; but a loop that stood still made no calls either.
    const wasStill = delays.count * RESOLUTION < passed / 2
    lagMs =
      passed < 2 * WINDOW || wasStill
        ? Math.max(0, delays.percentile(PERCENTILE) / NANOSECONDS_PER_MS - RESOLUTION_MS)
        : 0
    delays.reset()
    since = now()
    return lagMs
  }
}

/**
 * Takes a microsecond, so each request that takes memory is judged by a reading of its own, however many come at once. What is
 * garbage and was not collected yet counts as used: what came last is in it, too.
 */
function readHeap(): HeapReading {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  return { used, limit }
}
