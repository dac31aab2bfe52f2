import type { Clock } from '../core/clock.ts'
import { type Due, DueHeap } from '../core/due-heap.ts'
import { SECOND } from '../core/duration.ts'
import { EMPTY, fill, forgottenAt, type MeterState } from '../core/meter.ts'
import type { Filled, FillRequest, MeterId, MeterStore, Reading } from './meter-store.ts'

/** Nothing is gained by forgetting sooner, and a timer for each that comes and goes would cost more. */
const LOOK_EVERY = SECOND
/** Of those that may be forgotten, so many in one turn of the event loop: some hundred microseconds. */
const MOST_AT_ONCE = 1_000
/** And so many with each fill, which adds at most one: so they go faster than they come, even where no timer gets a turn. */
const WITH_EACH_FILL = 2

/** A level that is kept. It stands in the heap by when it may be forgotten, as of the last time that somebody looked. */
interface Level extends Due {
  readonly id: string
  state: MeterState
  forgottenAt: number
}

/**
 * Levels in the memory of this process. One that is empty and not blocked is forgotten: by the fills of others, and by
 * one timer, which is set only while anything is kept, and keeps no process alive.
 */
export class MemoryMeterStore implements MeterStore {
  readonly #clock: Clock
  readonly #levels = new Map<string, Level>()
  readonly #byEnd = new DueHeap<Level>()
  #sleepsUntil = Number.POSITIVE_INFINITY
  #stopTimer: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many levels are kept. */
  get size(): number {
    return this.#levels.size
  }

  async fill(request: FillRequest, now = this.#clock.now()): Promise<Filled> {
    const id = idOf(request)
    const before = this.#levels.get(id)?.state ?? EMPTY
    const { accepted, state } = fill(before, request, now)
    if (state !== before) this.#keep(id, state, request.interval)
    this.#forget(WITH_EACH_FILL)
    this.#setTimer()
    return { accepted, state, now }
  }

  async read(meter: MeterId, now = this.#clock.now()): Promise<Reading> {
    return { state: this.#levels.get(idOf(meter))?.state, now }
  }

  async drain(meter: MeterId): Promise<void> {
    const level = this.#levels.get(idOf(meter))
    if (level === undefined) return
    this.#drop(level)
    this.#setTimer()
  }

  async close(): Promise<void> {
    for (const level of this.#levels.values()) this.#byEnd.remove(level)
    this.#levels.clear()
    this.#setTimer()
  }

  #keep(id: string, state: MeterState, interval: number): void {
    let level = this.#levels.get(id)
    if (level === undefined) {
      level = { handle: -1, id, state, forgottenAt: 0 }
      this.#levels.set(id, level)
    }
    level.state = state
    level.forgottenAt = forgottenAt(state, interval)
    // One that stands there too early is moved when its turn comes, which is not as often as it is filled.
    if (level.handle === -1 || level.forgottenAt < this.#byEnd.dueOf(level)) {
      this.#byEnd.set(level, level.forgottenAt)
    }
  }

  #drop(level: Level): void {
    this.#levels.delete(level.id)
    this.#byEnd.remove(level)
  }

  /** Looks at so many of those that were due. */
  #forget(most: number): void {
    const now = this.#clock.now()
    for (let looks = 0; looks < most && this.#byEnd.earliest <= now; looks++) {
      const level = this.#byEnd.peek()!
      if (level.forgottenAt <= now) this.#drop(level)
      else this.#byEnd.set(level, level.forgottenAt)
    }
  }

  /** One timer, and none when nothing is kept. It moves only earlier: who wakes too early looks, and sleeps again. */
  #setTimer(rest = LOOK_EVERY): void {
    if (this.#levels.size === 0) {
      this.#stopTimer?.()
      this.#stopTimer = undefined
      this.#sleepsUntil = Number.POSITIVE_INFINITY
      return
    }
    if (this.#byEnd.earliest >= this.#sleepsUntil) return
    const at = Math.max(this.#byEnd.earliest, this.#clock.now() + rest)
    if (at >= this.#sleepsUntil) return
    this.#stopTimer?.()
    this.#sleepsUntil = at
    this.#stopTimer = this.#clock.wake(at, () => this.#look(), LOOK_EVERY)
  }

  #look(): void {
    this.#stopTimer = undefined
    this.#sleepsUntil = Number.POSITIVE_INFINITY
    this.#forget(MOST_AT_ONCE)
    // Those that are left go in the next turn of the event loop.
    this.#setTimer(this.#byEnd.earliest <= this.#clock.now() ? 0 : LOOK_EVERY)
  }
}

/** The length tells where the name ends, whatever is in it. */
function idOf({ name, key }: MeterId): string {
  return `${name.length}:${name}${key}`
}
