import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { monotonicNow } from '../core/clock.ts'
import { Units } from '../core/semaphore.ts'
import { reducedCapacity } from './problem.ts'

const RESOLUTION_MS = 10
const WINDOW = 500_000
const PERCENTILE = 90
const NANOSECONDS_PER_MS = 1e6
const HEAP_FRESH = 500_000

interface Limits {
  readonly maxInFlight: number
  readonly maxLagMs: number
  readonly maxHeapShare: number
}

/** Replacements for the measurements of this process. */
interface Gauges {
  readonly lagMs?: (() => number) | undefined
  readonly heapShare?: (() => number) | undefined
}

/**
 * Refuses requests with 503 while the process is overloaded, so that those in flight finish. A full line is different: that is 429 for
 * one key.
 */
export class OverloadGuard {
  readonly #limits: Limits
  readonly #lagMs: () => number
  readonly #heapShare: () => number
  readonly #inFlight: Units

  constructor(limits: Limits, { lagMs = watchLag(), heapShare = watchHeap() }: Gauges = {}) {
    this.#limits = limits
    this.#inFlight = new Units(limits.maxInFlight)
    this.#lagMs = lagMs
    this.#heapShare = heapShare
  }

  /** @throws Problem 503 */
  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (!this.#inFlight.fits(1)) throw tooMany()
    if (this.#lagMs() > this.#limits.maxLagMs) throw reducedCapacity('the process is overloaded')
    this.#inFlight.take(1)
    try {
      return await call()
    } finally {
      this.#inFlight.putBack(1)
    }
  }

  /** Reads a body without counting the request as in flight; the server bounds the time of it. @throws Problem 503 */
  async whileReading<Body>(read: () => Promise<Body>): Promise<Body> {
    this.#inFlight.putBack(1)
    try {
      const body = await read()
      if (!this.#inFlight.fits(1)) throw tooMany()
      return body
    } finally {
      this.#inFlight.take(1)
    }
  }

  /** For requests that use memory, such as enqueue and fill; reads and cancels are not limited. @throws Problem 503 */
  assertRoom(): void {
    if (this.#heapShare() <= this.#limits.maxHeapShare) return
    throw reducedCapacity('the process is almost out of memory', 5)
  }
}

function tooMany() {
  return reducedCapacity('too many requests in flight')
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
    // After a long time without calls the last measurement is outdated.
    lagMs =
      passed < 2 * WINDOW
        ? Math.max(0, delays.percentile(PERCENTILE) / NANOSECONDS_PER_MS - RESOLUTION_MS)
        : 0
    delays.reset()
    since = now()
    return lagMs
  }
}

/** Returns a function for the share of the heap limit that V8 uses, measured every half second at most. */
function watchHeap(now: () => number = monotonicNow): () => number {
  let lookedAt = Number.NEGATIVE_INFINITY
  let share = 0
  return () => {
    if (now() - lookedAt < HEAP_FRESH) return share
    lookedAt = now()
    const { used_heap_size: used, heap_size_limit: most } = getHeapStatistics()
    share = used / most
    return share
  }
}
