import type { Random } from './random.ts'
import { PHASES, type Phase, type World, type WorldEvent } from './world.ts'

/** How long an event keeps its process busy, at most; microseconds. */
const COST = 12
/** How long it takes to read a clock, at most; microseconds. */
const READ_COST = 0.4
/** The time at which worlds begin, in microseconds since the epoch. */
export const EPOCH = 1_795_000_000_000_000

/** The clocks of one process: how far its wall clock is off, and how fast both of its clocks run. */
export interface Clocks {
  /** Of the wall clock; microseconds. */
  readonly offset: number
  /** Parts in a million, of the monotonic clock and the wall clock. */
  readonly drift: number
}

/**
 * A process with an event loop: one thread, so that what comes while it is busy waits, and then timers go before input and
 * output. It may be killed, stopped, or blocked, at any event or in the middle of one.
 */
export class SimProcess {
  readonly world: World
  readonly name: string
  readonly random: Random
  readonly bornAt: number
  isAlive = true
  /** The time as its code sees it: reading a clock takes a moment. */
  inner: number
  /** Processor time used; microseconds. */
  used = 0
  /** Events run and writes made so far. */
  events = 0
  writes = 0
  /** Called before each event, and before each write: they may kill, stop or block it. */
  readonly beforeEvent: ((count: number) => unknown)[] = []
  readonly beforeWrite: ((count: number) => unknown)[] = []
  /** Errors that nothing caught. */
  readonly uncaught: unknown[] = []
  readonly #onDeath: (() => void)[] = []
  readonly #costs: Random
  /** What waits for the process, by phase; and the turn under way. */
  readonly #waiting: WorldEvent[][] = [[], [], []]
  #turn: WorldEvent[] = []
  /** How many events wait, and which of the turn is next. */
  #waitingCount = 0
  #turnAt = 0
  #isWoken = false
  #busyUntil = 0
  #clocks: Clocks = { offset: 0, drift: 0 }
  readonly #timeOrigin: () => number
  #lastCheckAt = 0

  constructor(world: World, name: string) {
    this.world = world
    this.name = name
    this.random = world.random.fork(`process ${name}`)
    this.#costs = this.random.fork('costs')
    this.bornAt = world.present
    this.inner = this.bornAt
    let origin: number | undefined
    this.#timeOrigin = () => {
      origin ??= (EPOCH + this.bornAt + this.#clocks.offset) / 1_000
      return origin
    }
  }

  // Clocks

  set clocks(clocks: Clocks) {
    this.#clocks = clocks
  }

  /** Moves the wall clock; microseconds. */
  stepWallClock(by: number): void {
    // The origin of the monotonic clock stays.
    this.#timeOrigin()
    this.#clocks = { ...this.#clocks, offset: this.#clocks.offset + by }
  }

  /** World time, as read by the code that runs; no two readings are the same. */
  read(): number {
    const took = 0.05 + this.#costs.next() * READ_COST
    this.inner += took
    this.used += took
    return this.inner
  }

  /** Works for as long as an event takes, in the middle of one. */
  spend(): void {
    const took = 1 + this.#costs.next() * COST
    this.inner += took
    this.used += took
  }

  /** Milliseconds since the epoch. */
  wallMs(): number {
    const { offset, drift } = this.#clocks
    return (EPOCH + this.read() * (1 + drift / 1e6) + offset) / 1_000
  }

  /** Milliseconds since the process began. */
  monotonicMs(): number {
    return ((this.read() - this.bornAt) * (1 + this.#clocks.drift / 1e6)) / 1_000
  }

  timeOriginMs(): number {
    return this.#timeOrigin()
  }

  /** World time that passes while its clock counts so much. */
  worldTime(duration: number): number {
    return duration / (1 + this.#clocks.drift / 1e6)
  }

  // Events

  /** Runs `run` in this process at `at`, or when it is free. */
  at(at: number, phase: Phase, run: () => void): WorldEvent {
    return this.world.schedule(this, at, phase, run)
  }

  /** Runs `run` in the next turn of the event loop, in the order of the calls. */
  check(run: () => void): WorldEvent {
    const at = this.inner + 20 + this.#costs.next() * 120
    this.#lastCheckAt = Math.max(at, this.#lastCheckAt + 0.001)
    return this.at(this.#lastCheckAt, PHASES.checks, run)
  }

  /** The world calls this when an event is due. */
  take(event: WorldEvent): void {
    if (event.run === undefined) {
      this.#isWoken = false
      this.#goOn()
    } else if (this.#isWoken || this.world.now < this.#busyUntil) {
      this.#waiting[event.phase]!.push(event)
      this.#waitingCount += 1
      this.#wake()
    } else this.#run(event.run)
  }

  /** The event and all that it caused without waiting are over. */
  leave(): void {
    const cost = 1 + this.#costs.next() * COST
    this.used += cost
    this.#busyUntil = Math.max(this.#busyUntil, this.inner + cost)
    if (this.#waitingCount > 0) this.#wake()
  }

  #goOn(): void {
    if (this.world.now < this.#busyUntil) {
      this.#wake()
      return
    }
    for (;;) {
      if (this.#turnAt === this.#turn.length) {
        if (this.#waitingCount === 0) return
        this.#turn = this.#waiting.flatMap((events) => events.splice(0))
        this.#turnAt = 0
      }
      const next = this.#turn[this.#turnAt++]!
      this.#waitingCount -= 1
      if (next.isCancelled) continue
      this.#run(next.run!)
      return
    }
  }

  #wake(): void {
    if (this.#isWoken || this.#busyUntil === Number.POSITIVE_INFINITY) return
    this.#isWoken = true
    this.world.schedule(this, this.#busyUntil, PHASES.timers, undefined)
  }

  #run(run: () => void): void {
    this.world.current = this
    this.inner = Math.max(this.inner, this.world.now)
    this.events += 1
    for (const hook of this.beforeEvent) hook(this.events)
    if (!this.isAlive) return
    try {
      run()
    } catch (error) {
      this.onUncaught(error)
    }
  }

  onUncaught(error: unknown): void {
    if (this.isAlive) this.uncaught.push(error)
  }

  // Faults

  /** Counts a write; false: it must not leave the process. */
  write(): boolean {
    if (!this.isAlive) return false
    this.writes += 1
    for (const hook of this.beforeWrite) hook(this.writes)
    return this.isAlive
  }

  /** Stands still for so long, in the middle of its code or between two events; microseconds. Returns until when it does. */
  stop(duration: number): number {
    return this.#standStill(duration, this.world.now + duration)
  }

  /** Computes for so long: as `stop`, but it uses the processor, and begins when it is free. */
  block(duration: number): number {
    this.used += duration
    return this.#standStill(duration, Math.max(this.#busyUntil, this.world.now) + duration)
  }

  #standStill(duration: number, until: number): number {
    if (this.world.current === this) {
      this.inner += duration
      return this.inner
    }
    this.#busyUntil = Math.max(this.#busyUntil, until)
    return this.#busyUntil
  }

  onDeath(listener: () => void): void {
    this.#onDeath.push(listener)
  }

  /** SIGKILL: none of its code has an effect from now on. */
  kill(): void {
    if (!this.isAlive) return
    this.isAlive = false
    for (const listener of this.#onDeath.splice(0)) listener()
  }
}
