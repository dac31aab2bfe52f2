import type { Dispatcher } from 'undici'

type Controller = Dispatcher.DispatchController

/**
 * The controller of a request from the moment it stands in line: what is asked of it while it waits holds for the
 * connection that it gets afterwards, and for each further one that is tried.
 */
export class TurnController implements Controller {
  readonly #waiting = new AbortController()
  #target: Controller | undefined
  #isPaused = false

  /** Aborted when the request is, before it has a connection. */
  get signal(): AbortSignal {
    return this.#waiting.signal
  }

  /** It has this connection now. */
  connect(target: Controller): void {
    this.#target = target
    if (this.#isPaused) target.pause()
    if (this.signal.aborted) target.abort(this.signal.reason)
  }

  get aborted(): boolean {
    return this.signal.aborted || (this.#target?.aborted ?? false)
  }

  get reason(): Error | null {
    return this.signal.aborted ? this.signal.reason : (this.#target?.reason ?? null)
  }

  get paused(): boolean {
    return this.#isPaused
  }

  get rawHeaders(): Controller['rawHeaders'] {
    return this.#target?.rawHeaders
  }

  get rawTrailers(): Controller['rawTrailers'] {
    return this.#target?.rawTrailers
  }

  abort(reason: Error): void {
    if (this.#target === undefined) this.#waiting.abort(reason)
    else this.#target.abort(reason)
  }

  pause(): void {
    this.#isPaused = true
    this.#target?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#target?.resume()
  }
}
