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

/** How much there is to do, where the process itself is not asked. */
interface Gauges {
  readonly lagMs?: (() => number) | undefined
  readonly heapShare?: (() => number) | undefined
}

/**
 * Turns requests away while the process has more than it can do, quickly, so that those inside get done. A line that
 * is full is another matter: that is 429, and about one key.
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
    if (this.#lagMs() > this.#limits.maxLagMs) throw reducedCapacity('the process has more to do than it can')
    this.#inFlight.take(1)
    try {
      return await call()
    } finally {
      this.#inFlight.putBack(1)
    }
  }

  /** Whoever sends slowly takes nobody's place meanwhile; the server bounds how long that may take. @throws Problem 503 */
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

  /** For what makes the lines longer, or has a level remembered; looking and cancelling go on. @throws Problem 503 */
  assertRoom(): void {
    if (this.#heapShare() <= this.#limits.maxHeapShare) return
    throw reducedCapacity('the process has hardly any memory left', 5)
  }
}

function tooMany() {
  return reducedCapacity('too many requests are being answered')
}

/**
 * The 90th percentile of the event loop's lag in the last full half second: one long tick is no overload, and nobody is
 * turned away for longer than it lasts. Watching begins with the first question and keeps no process alive.
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
    // A question after a long silence is not answered with what was long ago.
    lagMs =
      passed < 2 * WINDOW
        ? Math.max(0, delays.percentile(PERCENTILE) / NANOSECONDS_PER_MS - RESOLUTION_MS)
        : 0
    delays.reset()
    since = now()
    return lagMs
  }
}

/** What V8 has in use of what it may have; looked up anew after half a second. */
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
