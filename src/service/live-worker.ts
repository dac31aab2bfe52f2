import type { Handler } from '../line/attempt.ts'
import type { ShapedWorker } from '../line/engine.ts'
import type { WorkOptions } from '../line/options.ts'
import type { Shaper } from '../shaper/shaper.ts'

/** A handler that may hold connections: `close` waits for its running jobs, and then closes them. */
export type ClosableHandler = Handler<unknown, unknown> & { close?(): Promise<void> }

/** The worker of a process. Its handler may be replaced while jobs run. */
export class LiveWorker {
  readonly #shaper: Shaper
  readonly #options: WorkOptions
  #handler: ClosableHandler | undefined
  #worker: ShapedWorker | undefined

  constructor(shaper: Shaper, options: WorkOptions) {
    this.#shaper = shaper
    this.#options = options
  }

  /**
   * Uses this handler for jobs that depart from now on; running jobs end with the previous one, which is closed
   * afterwards. Without a handler no job departs.
   */
  use(handler: ClosableHandler | undefined): void {
    if (handler === undefined) {
      void this.stop()
      return
    }
    const before = this.#handler
    this.#handler = handler
    if (before !== handler) void before?.close?.()
    this.#worker ??= this.#shaper.work((job) => this.#handler?.(job), this.#options)
  }

  /** Takes no more jobs; resolves when the running ones have ended. */
  async stop(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.close()
  }

  /** Closes the handler. */
  async close(): Promise<void> {
    await this.#handler?.close?.()
  }
}
