import type { Clock } from '../../core/clock.ts'
import { retryDelay } from '../connection/retry-delay.ts'
import { MOST_OF_RUN } from '../scripts/prelude.ts'
import type { Delivery } from '../transport/transport.ts'
import type { FollowAnswer, FollowingJob } from '../verbs/follow.ts'
import type { GateEntry } from './gate-entry.ts'
import type { RedisClock } from './redis-clock.ts'
import type { ShardCalls } from './shard-calls.ts'
import { SlotRun } from './slot-run.ts'
import type { Grant, StartWindow } from './start-window.ts'

const COARSE = Number.POSITIVE_INFINITY

export interface SlotRunsPorts {
  readonly clock: Clock
  readonly storeClock: (shard: number) => RedisClock
  readonly calls: Pick<ShardCalls, 'follow'>
  /** For so long a job that the store gave belongs to this worker if it does not renew; microseconds. */
  readonly lease: number
  /** Handlers that are free for the key. */
  readonly free: (key: string) => number
  /** Takes a job to the end of those of its bucket; false: it was there. */
  readonly onJob: (job: Delivery, following: Following) => boolean
}

/** How a job came to this worker behind the one before it. */
export interface Following extends FollowingJob {
  readonly run: SlotRun
  /** Of the store's clock, when it was asked for. */
  readonly measurement: number
  /** When it was asked for, by the local clock. */
  readonly askedAt: number
}

/** A grant by a run, and the measurement of the store's clock to which its times belong. */
export interface FollowingGrant {
  readonly answer: Grant
  readonly measurement: number
}

/**
 * The runs of one worker, one for each fast bucket of which it starts jobs: a key with a high rate would otherwise wait for Redis
 * with each of them. The worker asks for more when half of what it has was started. After a slot that was missed, a job that did not
 * start, a freeze or an answer that does not come, the next job asks for its slot, and the others follow that one.
 */
export class SlotRuns {
  readonly #ports: SlotRunsPorts
  readonly #runs = new Map<string, SlotRun>()
  /** Each ends one pause. */
  readonly #pauses = new Set<() => void>()
  #isClosed = false

  constructor(ports: SlotRunsPorts) {
    this.#ports = ports
  }

  /** Buckets of which jobs follow each other. */
  get size(): number {
    return this.#runs.size
  }

  /** The store has just granted the job a slot, and others may follow it. @param known the last epoch of the bucket's jobs that came here */
  granted(
    { job }: GateEntry,
    { runInterval: interval, tolerance, pace, mayRun }: Grant,
    known: number,
  ): void {
    const before = this.#runs.get(job.key)
    before?.follow({ interval, tolerance, pattern: pace.pattern })
    if (!mayRun || this.#isClosed || before !== undefined) return
    const run = new SlotRun(job)
    this.#runs.set(job.key, run)
    void this.#extend(run, known)
  }

  /** The grant of a job that follows the one before it; undefined: it has to ask for its slot. */
  grantOf({ job, following }: GateEntry): FollowingGrant | undefined {
    if (following === undefined || this.#runs.get(job.key) !== following.run) return undefined
    const answer = following.run.grant(following)
    if (answer === undefined) this.stop(job.key)
    return answer && { answer, measurement: following.measurement }
  }

  /** Whether a job that was granted its slot by a run may still use it. */
  goesOn({ job, following }: GateEntry): boolean {
    const run = this.#runs.get(job.key)
    return run !== undefined && run === following?.run && !run.isStopped
  }

  /** The job was started. @param known the last epoch of the bucket's jobs that came here */
  started({ job, following }: GateEntry, grant: Grant, { start }: StartWindow, known: number): void {
    const run = this.#runs.get(job.key)
    if (run === undefined) return
    if (following?.run === run || run.first === job) run.ahead--
    // Undefined: the handler has not begun yet, as far as is known.
    if (start === undefined) run.stop()
    else run.started(start, grant)
    if (!run.isAsking && run.ahead <= run.asksAt) void this.#extend(run, known)
  }

  /** The job leaves the gate, and was not started. */
  left({ job, following }: GateEntry): void {
    const run = this.#runs.get(job.key)
    if (run === undefined || (following?.run !== run && run.first !== job)) return
    run.ahead--
    this.#forget(run)
  }

  /** The next job of the key asks for its slot. */
  stop(key: string): void {
    const run = this.#runs.get(key)
    if (run === undefined) return
    run.stop()
    this.#forget(run)
  }

  close(): void {
    this.#isClosed = true
    for (const key of this.#runs.keys()) this.stop(key)
    for (const wake of this.#pauses) wake()
  }

  async #pause(until: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = () => {
        disarm()
        this.#pauses.delete(wake)
        resolve()
      }
      const disarm = this.#ports.clock.wake(until, wake, COARSE)
      this.#pauses.add(wake)
    })
  }

  #forget(run: SlotRun): void {
    if (run.isOver) this.#runs.delete(run.first.key)
  }

  async #extend(run: SlotRun, known: number): Promise<void> {
    const { clock, free, onJob, storeClock } = this.#ports
    const { key, shard } = run.first
    const most = this.#isClosed ? 0 : Math.min(MOST_OF_RUN, free(key)) - run.ahead
    if (most <= 0) {
      if (run.ahead === 0) this.stop(key)
      return
    }
    run.isAsking = true
    const { measurement } = storeClock(shard)
    const askedAt = clock.now()
    const answer = await this.#ask(run, known, most)
    run.isAsking = false
    if (answer !== undefined) {
      // The first of them may look at once for its grant.
      run.follow(answer)
      const news = answer.jobs.filter((job) =>
        onJob({ ...job.handed, key, shard }, { ...job, run, measurement, askedAt }),
      )
      run.add(news.length)
    }
    if (run.ahead === 0) this.stop(key)
  }

  /** The jobs that an answer named belong to this worker, so it is asked for again if it was lost; undefined: their leases are over. */
  async #ask(run: SlotRun, known: number, most: number): Promise<FollowAnswer | undefined> {
    const { calls, clock, lease } = this.#ports
    const { key, shard } = run.first
    const until = clock.now() + lease
    for (let failures = 0; ; ) {
      try {
        return await calls.follow(shard, { key, known, most: failures === 0 ? most : 0 })
      } catch {
        // The call has reported it.
        run.stop()
        const at = clock.now() + retryDelay(++failures)
        if (this.#isClosed || at > until) return undefined
        await this.#pause(at)
      }
    }
  }
}
