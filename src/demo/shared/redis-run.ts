import { checkHistory } from '../../conformance/conformance.ts'
import type { Breach, HistoryEvent } from '../../conformance/history.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { VelvetRopeError } from '../../core/errors.ts'
import type { Account } from '../account.ts'
import type { RunLog } from '../run-log.ts'
import { LEAST_UTILISATION, LONGEST_DRAIN_MS } from '../shaped-run.ts'
import { DemoProcess } from './demo-process.ts'
import { DemoRedis, demoPrefix } from './demo-redis.ts'
import { joinHistories } from './joint-history.ts'
import type { Report } from './messages.ts'

export interface RedisRunOptions {
  readonly redis: string
  readonly accounts: readonly Account[]
  readonly cycles: number
  /** Where the API listens. */
  readonly port: number
}

const PRODUCERS = 2
const WORKERS = 2
const READY_WITHIN_MS = 20_000
const HISTORY_WITHIN_MS = 10_000
/** How late Redis may know what a worker did, in microseconds. */
const LAG = 250 * MILLISECOND

/** Runs the demo on Redis: two processes enqueue and two call the API, while this one observes. */
export class RedisRun {
  readonly #redis: DemoRedis
  readonly #prefix = demoPrefix()
  readonly #processes: DemoProcess[] = []
  readonly #histories: HistoryEvent[][] = []
  readonly #counts: Partial<Record<Report['say'], number>> = {}
  readonly #errors: string[] = []
  /** Converts times of Redis into times of this process. */
  #offset = 0
  #log: RunLog | undefined
  #onChange = () => {}
  /** A process ended early, so the others wait in vain. */
  #isBroken = false
  #isDone = false

  private constructor(redis: DemoRedis) {
    this.#redis = redis
  }

  /**
   * Starts all processes; resolves when they are ready.
   *
   * @throws BackendUnavailableError if Redis does not reply
   */
  static async open(options: RedisRunOptions): Promise<RedisRun> {
    const run = new RedisRun(await DemoRedis.connect(options.redis))
    try {
      await run.#prepare(options)
      return run
    } catch (error) {
      await run.close()
      throw error
    }
  }

  /** Runs the plan: every job waits in its line, and handlers call the API. Resolves when all lines are empty. */
  async run(log: RunLog): Promise<Breach[]> {
    this.#offset = await this.#redis.clockOffset()
    this.#log = log
    for (const process of this.#processes) process.send({ do: 'start' })
    const isDrained = () =>
      this.#count('sent') === PRODUCERS && this.#count('ended') >= this.#count('admitted')
    if (!(await this.#until(isDrained, LONGEST_DRAIN_MS))) {
      const { admitted = 0, ended = 0 } = this.#counts
      this.#errors.push(`the lines did not drain: ${ended} of ${admitted} jobs ended`)
    }
    log.end()
    for (const process of this.#processes) process.send({ do: 'stop' })
    this.#isDone = await this.#until(
      () => this.#count('history') === this.#processes.length,
      HISTORY_WITHIN_MS,
    )
    if (!this.#isDone) this.#errors.push('a process did not report its history')
    log.errors.push(...this.#errors)
    return checkHistory(joinHistories(this.#histories), { minUtilisation: LEAST_UTILISATION, lag: LAG })
  }

  /** Ends the processes and deletes their keys in Redis. */
  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.release(this.#isDone)))
    await this.#redis.sweep(this.#prefix)
    await this.#redis.close()
  }

  async #prepare({ redis, accounts, cycles, port }: RedisRunOptions): Promise<void> {
    for (const [kind, of] of [['producer', PRODUCERS] as const, ['worker', WORKERS] as const]) {
      for (let share = 0; share < of; share++) {
        const process = new DemoProcess(kind, share + 1, this.#onReport, this.#onEarlyEnd)
        this.#processes.push(process)
        const isSweeper = kind === 'producer' && share === 0
        const errand = {
          redis,
          prefix: this.#prefix,
          accounts: [...accounts],
          cycles,
          port,
          share,
          of,
          isSweeper,
        }
        process.send({ do: 'prepare', ...errand })
      }
    }
    const isReady = () => this.#errors.length > 0 || this.#count('ready') === this.#processes.length
    await this.#until(isReady, READY_WITHIN_MS)
    const [error] = this.#errors
    if (error !== undefined) throw new VelvetRopeError('demo-failed', error)
    if (!isReady()) {
      throw new VelvetRopeError(
        'demo-failed',
        `the demo's processes are not ready within ${READY_WITHIN_MS} ms`,
      )
    }
  }

  readonly #onReport = (report: Report): void => {
    this.#counts[report.say] = this.#count(report.say) + 1
    if (report.say === 'error') this.#errors.push(report.message)
    else if (report.say === 'history') this.#histories.push(report.events)
    else if ('key' in report) this.#note(report)
    this.#onChange()
  }

  #note(report: Extract<Report, { key: string }>): void {
    const log = this.#log?.of(report.key)
    if (log === undefined) return
    if (report.say === 'came-back') {
      log.cameBack++
      return
    }
    const at = report.at * MILLISECOND - this.#offset
    if (report.say === 'departed') log.departures.push({ at, waitedMs: report.waitedMs })
    else log.arrivals.push(at)
    if (report.say === 'rejected') log.rejections.push({ at, retryAfterMs: report.retryAfterMs })
  }

  readonly #onEarlyEnd = (how: string): void => {
    this.#errors.push(how)
    this.#isBroken = true
    this.#onChange()
  }

  #count(what: Report['say']): number {
    return this.#counts[what] ?? 0
  }

  /** Returns false if a process ended early, or it took too long. */
  #until(isReached: () => boolean, withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(timer)
        this.#onChange = () => {}
        resolve(isReached())
      }
      const timer = setTimeout(settle, withinMs)
      this.#onChange = () => {
        if (this.#isBroken || isReached()) settle()
      }
      this.#onChange()
    })
  }
}
