import type { Clock } from '../core/clock.ts'
import { type Due, DueHeap } from '../core/due-heap.ts'
import { SECOND } from '../core/duration.ts'
import { HeapUse, type SegmentUse } from '../core/heap-use.ts'
import { EMPTY, fill, forgottenAt } from '../core/meter.ts'
import { fillQuotas, type QuotaMeterState, quotasForgottenAt } from '../core/meter-quotas.ts'
import type {
  Filled,
  FillRequest,
  MeterId,
  MeterStore,
  QuotaFilled,
  QuotaFillRequest,
  QuotaMeterVerbs,
  QuotaReading,
} from './meter-store.ts'

/** Deleting sooner gains nothing, and more timers would cost more. */
const LOOK_EVERY = SECOND
/** The most levels deleted in one turn of the event loop: some hundred microseconds. */
const MOST_AT_ONCE = 1_000
/** The most deleted with each one added: so they are deleted faster than they are added, even if timers are delayed. */
const WITH_EACH_ADDED = 2

/** Bytes that a level takes of the heap beside its key, measured: docs/decisions/service.md. */
const LEVEL = 256
/** The same of what one quota counts, with its sixty sub-windows. */
const QUOTA = 1_300

/** A stored level. Its time in the heap may be too early: it is corrected when it comes up. */
interface Level extends Due, MeterId {
  state: QuotaMeterState
  forgottenAt: number
  readonly use: SegmentUse
}

/**
 * Stores levels in the memory of this process. One that is empty and not blocked is deleted: when others are added, and
 * by one timer, which is set only while there are levels, and does not keep the process alive.
 */
export class MemoryMeterStore implements MeterStore {
  readonly #clock: Clock
  /**
   * By the name of the meter, then by key: fills concatenate no strings, and one meter cannot reach the keys of
   * another.
   */
  readonly #levels = new Map<string, Map<string, Level>>()
  /** The one that was looked for last: a fill asks for it twice. */
  #found: Level | undefined
  readonly #byEnd = new DueHeap<Level>()
  /** What the keys of each first segment use of the heap. */
  readonly use = new HeapUse()
  readonly quotas: QuotaMeterVerbs = {
    fill: (request, now) => this.#fillQuotas(request, now),
    read: (meter, now) => this.read(meter, now),
  }
  #sleepsUntil = Number.POSITIVE_INFINITY
  #stopTimer: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The number of stored levels. Each of them is in the heap. */
  get size(): number {
    return this.#byEnd.size
  }

  /** Whether it stores a level of the key. */
  has(name: string, key: string): boolean {
    return this.#find(name, key) !== undefined
  }

  fill(request: FillRequest, now?: number): Filled {
    // Read once: a given `now` does not decide when others are deleted.
    const clock = this.#clock.now()
    const at = now ?? clock
    const level = this.#find(request.name, request.key)
    const before = level?.state ?? EMPTY
    const { accepted, state } = fill(before, request, at)
    if (state !== before) this.#store(request, level, state, forgottenAt(state), clock)
    return { accepted, state, now: at }
  }

  #fillQuotas(request: QuotaFillRequest, now?: number): QuotaFilled {
    const clock = this.#clock.now()
    const at = now ?? clock
    const level = this.#find(request.name, request.key)
    const { accepted, state } = fillQuotas(level?.state ?? EMPTY, request, at)
    if (level !== undefined || state !== EMPTY) {
      this.#store(request, level, state, quotasForgottenAt(state), clock)
    }
    return { accepted, state, now: at }
  }

  #store(
    meter: MeterId,
    level: Level | undefined,
    state: QuotaMeterState,
    forgottenAt: number,
    clock: number,
  ): void {
    if (level !== undefined && state === EMPTY) this.#drop(level)
    else this.#keep(level ?? this.#add(meter), state, forgottenAt)
    if (level === undefined) this.#forget(WITH_EACH_ADDED, clock)
    this.#setTimer(clock)
  }

  read(meter: MeterId, now = this.#clock.now()): QuotaReading {
    return { state: this.#find(meter.name, meter.key)?.state, now }
  }

  async drain(meter: MeterId): Promise<void> {
    const level = this.#find(meter.name, meter.key)
    if (level === undefined) return
    this.#drop(level)
    this.#setTimer(this.#clock.now())
  }

  async close(): Promise<void> {
    for (const levels of this.#levels.values()) {
      for (const level of levels.values()) this.#drop(level)
    }
    this.#setTimer(this.#clock.now())
  }

  #find(name: string, key: string): Level | undefined {
    const found = this.#found
    if (found !== undefined && found.key === key && found.name === name) return found
    this.#found = this.#levels.get(name)?.get(key)
    return this.#found
  }

  #add({ name, key }: MeterId): Level {
    const use = this.use.add(key, LEVEL + key.length)
    const level = { handle: -1, name, key, state: EMPTY, forgottenAt: 0, use }
    const levels = this.#levels.get(name)
    if (levels === undefined) this.#levels.set(name, new Map([[key, level]]))
    else levels.set(key, level)
    return level
  }

  #keep(level: Level, state: QuotaMeterState, forgottenAt: number): void {
    const more = bytesOf(state) - bytesOf(level.state)
    if (more !== 0) this.use.grow(level.use, more)
    level.state = state
    level.forgottenAt = forgottenAt
    // An entry that is too early is moved when it comes up, which is less often than it is filled.
    if (level.handle === -1 || level.forgottenAt < this.#byEnd.dueOf(level)) {
      this.#byEnd.set(level, level.forgottenAt)
    }
  }

  #drop(level: Level): void {
    if (level === this.#found) this.#found = undefined
    const levels = this.#levels.get(level.name)!
    levels.delete(level.key)
    this.use.release(level.use, LEVEL + level.key.length + bytesOf(level.state))
    if (levels.size === 0) this.#levels.delete(level.name)
    this.#byEnd.remove(level)
  }

  /** Checks at most `most` of the levels that are due. */
  #forget(most: number, now: number): void {
    for (let looks = 0; looks < most && this.#byEnd.earliest <= now; looks++) {
      const level = this.#byEnd.peek()!
      if (level.forgottenAt <= now) this.#drop(level)
      else this.#byEnd.set(level, level.forgottenAt)
    }
  }

  /**
   * One timer, and none while the store is empty. It moves only earlier: a wake-up that is too early checks and sleeps
   * again.
   */
  #setTimer(now: number, rest = LOOK_EVERY): void {
    if (this.#byEnd.size === 0) {
      this.#stopTimer?.()
      this.#stopTimer = undefined
      this.#sleepsUntil = Number.POSITIVE_INFINITY
      return
    }
    if (this.#byEnd.earliest >= this.#sleepsUntil) return
    const at = Math.max(this.#byEnd.earliest, now + rest)
    if (at >= this.#sleepsUntil) return
    this.#stopTimer?.()
    this.#sleepsUntil = at
    this.#stopTimer = this.#clock.wake(at, () => this.#look(), LOOK_EVERY)
  }

  #look(): void {
    this.#stopTimer = undefined
    this.#sleepsUntil = Number.POSITIVE_INFINITY
    this.#forget(MOST_AT_ONCE, this.#clock.now())
    const now = this.#clock.now()
    // The rest is deleted in the next turn of the event loop.
    this.#setTimer(now, this.#byEnd.earliest <= now ? 0 : LOOK_EVERY)
  }
}

/** Beside those of the level. */
function bytesOf({ counted }: QuotaMeterState): number {
  return counted === undefined ? 0 : counted.quotas.length * QUOTA
}
