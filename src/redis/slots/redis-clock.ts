import type { Clock } from '../../core/clock.ts'
import { MILLISECOND, SECOND } from '../../core/duration.ts'
import { type ClockError, type ClockSample, Offset } from './offset.ts'

export type { ClockSample } from './offset.ts'

/** Pings before anything may start: one of them meets no delay. */
const FIRST_PINGS = 8
const PING_EVERY = SECOND
/** After the first pings, and twice as long each further time: these share what delayed them, such as a process that is still loading. */
const PING_SOON = 10 * MILLISECOND
/** After a failed ping, while nothing may start. */
const PING_AGAIN_AFTER = 100 * MILLISECOND
/** A sample further off than drift and round trips explain means a step. Slewing after it, processes would disagree meanwhile. */
const LONGEST_UNEXPLAINED = 2 * MILLISECOND
const SLACK = Number.POSITIVE_INFINITY
const UNKNOWN: ClockError = { ahead: Number.POSITIVE_INFINITY, behind: Number.POSITIVE_INFINITY }

export interface RedisClockPorts {
  readonly clock: Clock
  /** Asks the store for its time. A failure is not reported here: other calls to the store report it. */
  ping(): Promise<number>
  /**
   * Reports that the store's clock was moved, by `by` at most. It must keep every bucket from starting too early; nothing
   * starts before it has resolved. When it fails it is called again a little later.
   */
  onJump(by: number): Promise<void>
}

/**
 * The time of the store, by the monotonic clock of this process. It learns from every reply that carries the store's time,
 * and pings once a second between them, more often at first. Times are microseconds since the epoch.
 */
export class RedisClock {
  readonly #ports: RedisClockPorts
  readonly #waitingForSound = new Set<() => void>()
  #offset: Offset | undefined
  #pingsDue = FIRST_PINGS
  #pause = PING_SOON
  /** A jump that was not reported to the store yet. */
  #unreportedJump: number | undefined
  /** Samples that were asked for earlier are of a time before the last jump. */
  #ignoredBefore = Number.NEGATIVE_INFINITY
  #measurement = 0
  /** Tells one run from the next when `start` follows `stop`. */
  #run = 0
  #isRunning = false
  #wakeUp: (() => void) | undefined

  constructor(ports: RedisClockPorts) {
    this.#ports = ports
  }

  /** False: nothing may start, because the clock was not measured yet or was moved. */
  get isSound(): boolean {
    return this.#isRunning && this.#pingsDue === 0 && this.#unreportedJump === undefined
  }

  /** Changes with each new measurement: times that the store gave before are not comparable with those after it. */
  get measurement(): number {
    return this.#measurement
  }

  /**
   * The largest errors of `now` and `toLocal`: half of the best round trip, whose two ways may take different times, and on one
   * side what was not slewed yet.
   */
  get error(): ClockError {
    return this.#offset?.errorAt(this.#ports.clock.now()) ?? UNKNOWN
  }

  now(): number {
    const local = this.#ports.clock.now()
    return local + this.#offsetAt(local)
  }

  /** The local time at which it is `storeTime` in the store, as far as is known now. */
  toLocal(storeTime: number): number {
    return storeTime - this.#offsetAt(this.#ports.clock.now())
  }

  observe(sample: ClockSample): void {
    if (!this.#isRunning || sample.sentAt < this.#ignoredBefore) return
    if (this.#offset === undefined) {
      this.#offset = new Offset(sample)
      return
    }
    const { least, most } = this.#offset.unexplained(sample)
    if (Math.abs(least) > LONGEST_UNEXPLAINED) {
      this.#remeasure(most, sample)
      return
    }
    this.#offset.add(sample)
    if (this.#pingsDue > 0) this.#offset.step()
  }

  /** Calls `callback` once when the clock is sound, never synchronously. Returns a function that cancels it. */
  onSound(callback: () => void): () => void {
    this.#waitingForSound.add(callback)
    return () => void this.#waitingForSound.delete(callback)
  }

  /** Measures, and goes on measuring. Safe to call twice. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#forget()
    void this.#keepMeasuring(++this.#run)
  }

  /** From now on nothing may start. Safe to call twice. */
  stop(): void {
    this.#isRunning = false
    this.#wakeUp?.()
  }

  /** 0 before the first measurement, when the clock is not sound. */
  #offsetAt(local: number): number {
    return this.#offset?.at(local) ?? 0
  }

  #forget(): void {
    this.#measurement++
    this.#offset = undefined
    this.#pingsDue = FIRST_PINGS
    this.#pause = PING_SOON
    this.#ignoredBefore = this.#ports.clock.now()
  }

  #remeasure(by: number, after: ClockSample): void {
    this.#forget()
    // It shows a further step that comes before the next sample.
    this.#offset = new Offset(after)
    this.#unreportedJump = (this.#unreportedJump ?? 0) + by
    this.#wakeUp?.()
  }

  async #keepMeasuring(run: number): Promise<void> {
    const isMine = () => this.#isRunning && this.#run === run
    while (isMine()) {
      await this.#reportJump()
      const hasAnswered = isMine() && (await this.#ping(isMine))
      this.#signalSound()
      if (hasAnswered && this.#pingsDue > 0) continue
      if (isMine()) await this.#sleep(this.isSound ? this.#nextPause() : PING_AGAIN_AFTER)
    }
  }

  #nextPause(): number {
    const pause = this.#pause
    this.#pause = Math.min(2 * pause, PING_EVERY)
    return pause
  }

  async #ping(isMine: () => boolean): Promise<boolean> {
    const { clock, ping } = this.#ports
    const sentAt = clock.now()
    try {
      const storeTime = await ping()
      const isOfNow = isMine() && sentAt >= this.#ignoredBefore
      this.observe({ sentAt, receivedAt: clock.now(), storeTime })
      // A ping that revealed a jump belongs to the time before it.
      if (isOfNow && sentAt >= this.#ignoredBefore) this.#pingsDue = Math.max(0, this.#pingsDue - 1)
      return true
    } catch {
      return false
    }
  }

  async #reportJump(): Promise<void> {
    const by = this.#unreportedJump
    if (by === undefined) return
    try {
      await this.#ports.onJump(by)
      // It may have been moved again meanwhile: that is reported in the next turn of the loop.
      const left = this.#unreportedJump! - by
      this.#unreportedJump = left === 0 ? undefined : left
    } catch {
      // It is reported again in the next turn of the loop.
    }
  }

  #signalSound(): void {
    if (!this.isSound) return
    const callbacks = [...this.#waitingForSound]
    this.#waitingForSound.clear()
    for (const callback of callbacks) callback()
  }

  #sleep(duration: number): Promise<void> {
    const { clock } = this.#ports
    return new Promise((resolve) => {
      const cancel = clock.wake(clock.now() + duration, () => this.#wakeUp?.(), SLACK)
      this.#wakeUp = () => {
        cancel()
        this.#wakeUp = undefined
        resolve()
      }
    })
  }
}
