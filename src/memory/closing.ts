import type { Clock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import type { Backend, BackendJob } from '../line/job.ts'
import type { Scheduler } from './scheduler.ts'

/** What the end of a line needs of its workers. */
interface Closable {
  close(): Promise<void>
  abandon(): void
}

/** How a line in memory ends: it drains if told so, starts nothing more, cancels who still waits, waits for handlers. */
export class Closing {
  readonly #backend: Backend
  readonly #scheduler: Scheduler
  readonly #clock: Clock
  readonly #onCancelled: (job: BackendJob, now: number) => void
  readonly #workers: ReadonlySet<Closable>
  #closed: Promise<void> | undefined
  #onDrained: (() => void) | undefined

  constructor(
    backend: Backend,
    scheduler: Scheduler,
    clock: Clock,
    onCancelled: (job: BackendJob, now: number) => void,
    workers: ReadonlySet<Closable>,
  ) {
    this.#backend = backend
    this.#scheduler = scheduler
    this.#clock = clock
    this.#onCancelled = onCancelled
    this.#workers = workers
  }

  /** The first call decides how; the later ones wait for the same end. */
  close(drainMs: number | undefined): Promise<void> {
    if (this.#closed === undefined && drainMs === undefined) this.#scheduler.stop()
    // Not at once: a listener that is told of the end may ask for it again.
    this.#closed ??= Promise.resolve().then(() => this.#close(drainMs))
    return this.#closed
  }

  /** No job is alive. */
  drained(): void {
    this.#onDrained?.()
  }

  async #close(drainMs: number | undefined): Promise<void> {
    if (drainMs !== undefined) await this.#drain(drainMs)
    this.#scheduler.stop()
    this.#cancelWaiting()
    if (drainMs !== undefined) for (const worker of this.#workers) worker.abandon()
    await Promise.all([...this.#workers].map((worker) => worker.close()))
    // A handler that failed meanwhile may have put its job back into the line.
    this.#cancelWaiting()
  }

  /** Resolves when no job is alive, or after `drainMs`. */
  #drain(drainMs: number): Promise<void> {
    if (this.#backend.live === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const until = this.#clock.now() + drainMs * MILLISECOND
      const stopTimer = this.#clock.wake(until, resolve, Number.POSITIVE_INFINITY)
      this.#onDrained = () => {
        stopTimer()
        resolve()
      }
    })
  }

  #cancelWaiting(): void {
    const now = this.#clock.now()
    for (const { id } of [...this.#backend.waiting()]) {
      const job = this.#backend.cancel(id, now)
      if (job !== undefined) this.#onCancelled(job, now)
    }
  }
}
