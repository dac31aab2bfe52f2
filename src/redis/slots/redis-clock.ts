import type { Clock } from '../../core/clock.ts'
import { MILLISECOND, SECOND } from '../../core/duration.ts'
import { type ClockSample, Offset } from './offset.ts'

export type { ClockSample } from './offset.ts'

/** So many pings before anybody may start: one of them meets no delay. */
const FIRST_PINGS = 8
const PING_EVERY = SECOND
/** While nobody may start, a ping that failed is soon tried again. */
const PING_AGAIN_AFTER = 100 * MILLISECOND
/** Beyond what drift and round trips explain, a clock was stepped. Slewed after, processes would disagree meanwhile. */
const LONGEST_UNEXPLAINED = 2 * MILLISECOND
const SLACK = Number.POSITIVE_INFINITY

export interface RedisClockPorts {
  readonly clock: Clock
  /** Asks the store for its time. One that fails is asked again; whoever else needs the store tells of it. */
  ping(): Promise<number>
  /**
   * The store's clock was moved by `by` at most. Nothing starts before this has resolved: it must keep every bucket from
   * starting too early. It is called again, a little later, when it fails.
   */
  onJump(by: number): Promise<void>
}

/**
 * What time it is in the store, by the monotonic clock of this process. Fed with every reply that tells the store's
 * time; between them it pings once a second. Times are microseconds since the epoch.
 */
export class RedisClock {
  readonly #ports: RedisClockPorts
  readonly #waitingForSound = new Set<() => void>()
  #offset: Offset | undefined
  #pingsDue = FIRST_PINGS
  /** A jump of which the store was not told yet. */
  #untoldJump: number | undefined
  /** What was asked before is of a time before the last jump. */
  #deafTo = Number.NEGATIVE_INFINITY
  #measurement = 0
  /** Tells one run from the next, when `stop` and `start` follow each other. */
  #run = 0
  #isRunning = false
  #wakeUp: (() => void) | undefined

  constructor(ports: RedisClockPorts) {
    this.#ports = ports
  }

  /** False: nobody may start. Not measured yet, or the store's clock was moved. */
  get isSound(): boolean {
    return this.#isRunning && this.#pingsDue === 0 && this.#untoldJump === undefined
  }

  /** Another number: it was measured anew, and times that the store told before mean something else now. */
  get measurement(): number {
    return this.#measurement
  }

  /**
   * How far `now` and `toLocal` may be from the truth: half of the best round trip, of which it is not known how much was the
   * way there, and what was not slewed yet.
   */
  get error(): number {
    return this.#offset?.errorAt(this.#ports.clock.now()) ?? Number.POSITIVE_INFINITY
  }

  now(): number {
    const local = this.#ports.clock.now()
    return local + this.#offsetAt(local)
  }

  /** When the process's clock will show that it is `storeTime` in the store, as far as is known now. */
  toLocal(storeTime: number): number {
    return storeTime - this.#offsetAt(this.#ports.clock.now())
  }

  observe(sample: ClockSample): void {
    if (!this.#isRunning || sample.sentAt < this.#deafTo) return
    if (this.#offset === undefined) {
      this.#offset = new Offset(sample)
      return
    }
    const { least, most } = this.#offset.unexplained(sample)
    if (Math.abs(least) > LONGEST_UNEXPLAINED) {
      this.#remeasure(most)
      return
    }
    this.#offset.add(sample)
    if (this.#pingsDue > 0) this.#offset.step()
  }

  /** Calls back once it is sound, never at once; calling the answer takes the wish back. */
  onSound(callback: () => void): () => void {
    this.#waitingForSound.add(callback)
    return () => void this.#waitingForSound.delete(callback)
  }

  /** Measures anew, and goes on measuring. Safe to call twice. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#forget()
    void this.#keepMeasuring(++this.#run)
  }

  /** Nobody may start any more. Safe to call twice. */
  stop(): void {
    this.#isRunning = false
    this.#wakeUp?.()
  }

  /** Before it was measured it is not sound, and what it says is worth nothing. */
  #offsetAt(local: number): number {
    return this.#offset?.at(local) ?? 0
  }

  #forget(): void {
    this.#measurement++
    this.#offset = undefined
    this.#pingsDue = FIRST_PINGS
    this.#deafTo = this.#ports.clock.now()
  }

  #remeasure(by: number): void {
    this.#forget()
    this.#untoldJump = (this.#untoldJump ?? 0) + by
    this.#wakeUp?.()
  }

  async #keepMeasuring(run: number): Promise<void> {
    const isMine = () => this.#isRunning && this.#run === run
    while (isMine()) {
      await this.#tellJump()
      const hasAnswered = isMine() && (await this.#ping(isMine))
      this.#tellSound()
      if (hasAnswered && this.#pingsDue > 0) continue
      if (isMine()) await this.#sleep(this.isSound ? PING_EVERY : PING_AGAIN_AFTER)
    }
  }

  async #ping(isMine: () => boolean): Promise<boolean> {
    const { clock, ping } = this.#ports
    const sentAt = clock.now()
    try {
      const storeTime = await ping()
      const isOfNow = isMine() && sentAt >= this.#deafTo
      this.observe({ sentAt, receivedAt: clock.now(), storeTime })
      // One that told of a jump is the last of the time before it.
      if (isOfNow && sentAt >= this.#deafTo) this.#pingsDue = Math.max(0, this.#pingsDue - 1)
      return true
    } catch {
      return false
    }
  }

  async #tellJump(): Promise<void> {
    const by = this.#untoldJump
    if (by === undefined) return
    try {
      await this.#ports.onJump(by)
      if (this.#untoldJump === by) this.#untoldJump = undefined
    } catch {
      // It is told again in the next turn.
    }
  }

  #tellSound(): void {
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
