import { Alarm } from '../../core/alarm.ts'
import type { Clock } from '../../core/clock.ts'
import { leaderships, schedulerPasses } from '../../core/diagnostics.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { OutageReports } from '../connection/outage-reports.ts'
import { retryDelay } from '../connection/retry-delay.ts'
import type { Wakes } from '../transport/wakes.ts'
import type { Verbs } from '../verbs/verbs.ts'
import { Markers } from './markers.ts'
import { Pass, type PassCounts, type PassPorts } from './pass.ts'

export interface RedisSchedulerOptions extends PassPorts {
  readonly backend: PassPorts['backend'] & Pick<Verbs, 'resign'>
  readonly wakes: Pick<Wakes, 'next' | 'end'>
  readonly onError: (error: Error) => void
}

/** Passes are so many to a look-ahead: each start makes room for one more job, and a wake for each is a waste. */
const PASSES_PER_LOOK_AHEAD = 10
/** Jobs are handed over well before their slots, so a timer may be as late as timers are. */
const SLACK = 10 * MILLISECOND

/**
 * The scheduler of one shard: hands over the heads of the lines shortly before their slots, brings back what was lost on the
 * way, and lets expire what waits too long (`pass.ts`). Any number of them may run; the store elects the one that works.
 * Between passes it sleeps until the next thing is due or the store wakes it. How the election works: `README.md`.
 */
export class RedisScheduler {
  readonly #options: RedisSchedulerOptions
  readonly #clock: Clock
  readonly #pass: Pass
  readonly #outages: OutageReports
  readonly #wakes: Alarm
  readonly #markers: Markers
  readonly #end: Alarm
  #running: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #passing: Promise<PassCounts> | undefined
  #isStopping = false
  /** It may be elected, or wait for a marker. */
  #isKnown = false
  /** Passes that failed in a row. */
  #failures = 0

  constructor(options: RedisSchedulerOptions) {
    const { clock, shard, wakes } = options
    this.#options = options
    this.#clock = clock
    this.#pass = new Pass(options)
    this.#outages = new OutageReports(options.onError)
    this.#wakes = new Alarm(clock, SLACK)
    const onError = (error: unknown) => {
      // Resigning ends a wait.
      if (!this.#isStopping) this.#outages.report(error)
    }
    this.#markers = new Markers({ wakes, shard, alarm: this.#wakes, onError })
    this.#end = new Alarm(clock, SLACK)
  }

  /** Does all that is due now; never rejects: an error ends the pass and is reported once. Joins a pass that is under way. */
  runOnce(): Promise<PassCounts> {
    this.#passing ??= this.#runPass().finally(() => {
      this.#passing = undefined
    })
    return this.#passing
  }

  /** Safe to call twice. To start again, wait until `stop` has resolved. */
  start(): void {
    this.#running ??= this.#loop()
  }

  /** Resolves when a pass that was under way has ended; safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined
    })
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#isStopping = true
    this.#end.ring()
    this.#wakes.ring()
    await this.#running
    await this.#passing
    await this.#resign()
    this.#publishLeadership(false)
    this.#running = undefined
    this.#isStopping = false
    this.#end.reset()
  }

  /**
   * Else the others would wait until its term has ended. A follower resigns, too: the marker of a vacancy may be on its way
   * to it.
   */
  async #resign(): Promise<void> {
    if (!this.#isKnown) return
    this.#isKnown = false
    try {
      await this.#options.wakes.end(this.#options.shard)
      await this.#options.backend.resign(this.#options.shard, this.#options.name)
    } catch (thrown) {
      this.#outages.report(thrown)
    }
  }

  async #loop(): Promise<void> {
    while (!this.#isStopping) {
      const startedAt = this.#clock.now()
      await this.runOnce()
      await this.#sleep(startedAt)
    }
  }

  async #sleep(passStartedAt: number): Promise<void> {
    const failures = Math.max(this.#failures, this.#markers.failures)
    if (failures > 0) {
      await this.#end.sleep(this.#clock.now() + retryDelay(failures, this.#options.random?.()))
    } else await this.#end.sleep(passStartedAt + this.#pass.lookAhead / PASSES_PER_LOOK_AHEAD)
    if (this.#isStopping || this.#failures > 0) return
    const { due, isFollower } = this.#pass
    if (isFollower) this.#markers.awaitVacancy(Math.max(0, due - this.#clock.now()))
    else this.#markers.awaitWake()
    await this.#wakes.sleep(due)
  }

  async #runPass(): Promise<PassCounts> {
    const tally = { handed: 0, recovered: 0, expired: 0, isElected: false }
    // The claim sees all that rang before it; what rings from here on is looked at in another pass.
    this.#wakes.reset()
    const startedAt = this.#clock.now()
    this.#isKnown = true
    try {
      await this.#pass.run(tally, () => this.#isStopping)
      this.#failures = 0
      if (this.#markers.failures === 0) this.#outages.over()
    } catch (thrown) {
      this.#failures++
      this.#outages.report(thrown)
    }
    this.#publishPass(tally, this.#clock.now() - startedAt)
    return tally
  }

  #publishPass({ handed, recovered, expired, isElected }: PassCounts, duration: number): void {
    this.#publishLeadership(isElected)
    if (!schedulerPasses.hasSubscribers) return
    const { shaper, shard } = this.#options
    schedulerPasses.publish({ shaper, shard, duration, handed, recovered, expired })
  }

  #publishLeadership(isLeader: boolean): void {
    const { shaper, shard } = this.#options
    if (leaderships.hasSubscribers) leaderships.publish({ shaper, shard, isLeader })
  }
}
