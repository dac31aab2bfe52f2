import type { Dispatcher } from 'undici'
import type { Turn } from '../line/turn.ts'
import type { RequestTurns } from './request-turns.ts'
import type { TurnController } from './turn-controller.ts'

interface Departed {
  readonly turns: RequestTurns
  /** Holds its place until the response has ended. */
  readonly departed: Turn
  readonly controller: TurnController
  readonly handler: Dispatcher.DispatchHandler
}

type Args<Name extends keyof Dispatcher.DispatchHandler> = Parameters<
  NonNullable<Dispatcher.DispatchHandler[Name]>
>

/** Passes on the events of a request whose turn has come, and observes its response for freezes. */
export class TurnHandler implements Dispatcher.DispatchHandler {
  readonly #turns: RequestTurns
  readonly #departed: Turn
  readonly #controller: TurnController
  readonly #handler: Dispatcher.DispatchHandler

  constructor({ turns, departed, controller, handler }: Departed) {
    this.#turns = turns
    this.#departed = departed
    this.#controller = controller
    this.#handler = handler
  }

  onRequestStart(...[controller, context]: Args<'onRequestStart'>): void {
    this.#controller.connect(controller)
    this.#handler.onRequestStart?.(this.#controller, context)
  }

  onRequestUpgrade(...[, ...rest]: Args<'onRequestUpgrade'>): void {
    // No response will end: what follows is no request.
    void this.#departed.release()
    this.#handler.onRequestUpgrade?.(this.#controller, ...rest)
  }

  onResponseStart(...[, status, headers, message]: Args<'onResponseStart'>): void {
    // Not waited for: the next request in turn finds the key frozen.
    if (status >= 200) void this.#turns.observe(this.#departed.key, status, (name) => textOf(headers[name]))
    this.#handler.onResponseStart?.(this.#controller, status, headers, message)
  }

  onResponseData(...[, chunk]: Args<'onResponseData'>): void {
    this.#handler.onResponseData?.(this.#controller, chunk)
  }

  onResponseEnd(...[, trailers]: Args<'onResponseEnd'>): void {
    void this.#departed.release()
    this.#handler.onResponseEnd?.(this.#controller, trailers)
  }

  onResponseError(...[, error]: Args<'onResponseError'>): void {
    void this.#departed.release()
    this.#handler.onResponseError?.(this.#controller, error)
  }
}

/** A repeated field is a list, as in fetch. */
function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}
