import type { Clock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import type { MemoryScheduler } from './memory-scheduler.ts'
import type { JobRecord } from './store/job-record.ts'
import type { MemoryStore } from './store/memory-store.ts'

const A_LONG_TIME_MS = 2 ** 31 - 1

/** What the end of a line needs of its workers. */
interface ClosableWorker {
  close(): Promise<void>
  abandon(): void
}

export interface LifetimePorts {
  readonly store: MemoryStore
  readonly scheduler: MemoryScheduler
  readonly clock: Clock
  readonly workers: ReadonlySet<ClosableWorker>
  onCancelled(job: JobRecord, now: number): void
}

/**
 * Keeps the process alive while jobs have not ended, because the line is lost with its process, and ends the line: drains
 * it if asked to, starts nothing more, cancels the jobs that wait, and waits for handlers.
 */
export class Lifetime {
  readonly #ports: LifetimePorts
  #keepAlive: NodeJS.Timeout | undefined
  #closed: Promise<void> | undefined
  #onDrained: (() => void) | undefined

  constructor(ports: LifetimePorts) {
    this.#ports = ports
  }

  /** A job was admitted, or has ended. */
  update(): void {
    const isLive = this.#ports.store.live > 0
    if (!isLive) this.#onDrained?.()
    this.#hold(isLive)
  }

  /** Ends the line. The first call decides how; later calls wait for the same end. */
  close(drainMs: number | undefined): Promise<void> {
    if (this.#closed === undefined && drainMs === undefined) this.#ports.scheduler.stop()
    // Not at once: a listener to which the end is emitted may call `close` again.
    this.#closed ??= Promise.resolve().then(() => this.#close(drainMs))
    return this.#closed
  }

  async #close(drainMs: number | undefined): Promise<void> {
    const { scheduler, workers } = this.#ports
    if (drainMs !== undefined) await this.#drain(drainMs)
    scheduler.stop()
    this.#cancelWaiting()
    if (drainMs !== undefined) for (const worker of workers) worker.abandon()
    await Promise.all([...workers].map((worker) => worker.close()))
    // A handler that failed meanwhile may have put its job back into the line.
    this.#cancelWaiting()
    this.#hold(false)
  }

  /** Resolves when no job is alive, or after `drainMs`. */
  #drain(drainMs: number): Promise<void> {
    const { store, clock } = this.#ports
    if (store.live === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const until = clock.now() + drainMs * MILLISECOND
      const stopTimer = clock.wake(until, resolve, Number.POSITIVE_INFINITY)
      this.#onDrained = () => {
        stopTimer()
        resolve()
      }
    })
  }

  #cancelWaiting(): void {
    const { store, clock, onCancelled } = this.#ports
    const now = clock.now()
    for (const { id, key } of [...store.waiting()]) {
      const job = store.cancel(id, now, key)
      if (job !== undefined) onCancelled(job, now)
    }
  }

  #hold(isNeeded: boolean): void {
    if (isNeeded === (this.#keepAlive !== undefined)) return
    clearInterval(this.#keepAlive)
    this.#keepAlive = isNeeded ? setInterval(() => undefined, A_LONG_TIME_MS) : undefined
  }
}
