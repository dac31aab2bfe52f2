import type { SimProcess } from './process.ts'
import { PHASES, type WorldEvent } from './world.ts'

/** A share of timers fires early, as those of Node do, by up to so many microseconds; the others are a little late. */
const EARLY_SHARE = 0.3
const MOST_EARLY = 900
const MOST_LATE = 300
const LONGEST_MS = 2 ** 31 - 1

const timersOf = new WeakMap<SimProcess, Timers>()

/** The timers of a process. */
export function timers(process: SimProcess): Timers {
  let own = timersOf.get(process)
  if (own === undefined) {
    own = new Timers(process)
    timersOf.set(process, own)
  }
  return own
}

/** What `setTimeout` and `setInterval` return. */
export class SimTimeout {
  readonly #timers: Timers
  readonly #run: () => void
  readonly ms: number
  readonly isInterval: boolean
  readonly id: number
  #event: WorldEvent | undefined
  #isReferenced = true

  constructor(owner: Timers, run: () => void, ms: number, isInterval: boolean, id: number) {
    this.#timers = owner
    this.#run = run
    this.ms = ms
    this.isInterval = isInterval
    this.id = id
  }

  arm(event: WorldEvent): void {
    this.#event = event
  }

  fire(): void {
    if (!this.isInterval) this.#timers.remove(this)
    this.#run()
    if (this.isInterval && this.#timers.has(this)) this.#timers.arm(this)
  }

  ref(): this {
    this.#isReferenced = true
    return this
  }

  unref(): this {
    this.#isReferenced = false
    return this
  }

  hasRef(): boolean {
    return this.#isReferenced
  }

  refresh(): this {
    if (this.#event !== undefined) this.#event.isCancelled = true
    this.#timers.arm(this)
    return this
  }

  close(): this {
    if (this.#event !== undefined) this.#event.isCancelled = true
    this.#timers.remove(this)
    return this
  }

  [Symbol.toPrimitive](): number {
    return this.id
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** What `setImmediate` returns. */
export class SimImmediate {
  readonly event: WorldEvent

  constructor(event: WorldEvent) {
    this.event = event
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  [Symbol.dispose](): void {
    this.event.isCancelled = true
  }
}

export class Timers {
  readonly #process: SimProcess
  readonly #live = new Map<number, SimTimeout>()
  /** When the last timer of each length fires: those of one length never overtake each other. */
  readonly #lastOf = new Map<number, number>()
  #count = 0

  constructor(process: SimProcess) {
    this.#process = process
  }

  /** Timers that will fire. */
  get live(): readonly SimTimeout[] {
    return [...this.#live.values()]
  }

  has(timer: SimTimeout): boolean {
    return this.#live.has(timer.id)
  }

  remove(timer: SimTimeout): void {
    this.#live.delete(timer.id)
  }

  set(run: () => void, ms: unknown, isInterval: boolean): SimTimeout {
    const timer = new SimTimeout(this, run, lengthOf(ms), isInterval, ++this.#count)
    this.arm(timer)
    return timer
  }

  arm(timer: SimTimeout): void {
    const { random, inner } = this.#process
    const process = this.#process
    const exact = inner + process.worldTime(timer.ms * 1_000)
    const drawn = random.next()
    const shift =
      drawn < EARLY_SHARE
        ? -MOST_EARLY * (drawn / EARLY_SHARE)
        : (MOST_LATE * (drawn - EARLY_SHARE)) / (1 - EARLY_SHARE)
    const at = Math.max(exact + shift, inner, (this.#lastOf.get(timer.ms) ?? 0) + 0.001)
    this.#lastOf.set(timer.ms, at)
    this.#live.set(timer.id, timer)
    timer.arm(process.at(at, PHASES.timers, () => timer.fire()))
  }

  clear(handle: unknown): void {
    if (handle instanceof SimTimeout) handle.close()
    else if (typeof handle === 'number' || typeof handle === 'string') this.#live.get(Number(handle))?.close()
  }
}

/** As Node reads it. */
function lengthOf(ms: unknown): number {
  const length = Number(ms)
  return length >= 1 && length <= LONGEST_MS ? Math.trunc(length) : 1
}
