import type { Dispatcher } from 'undici'
import type { RequestTurns } from './request-turns.ts'
import type { TurnController } from './turn-controller.ts'

interface Departed {
  readonly turns: RequestTurns
  readonly key: string
  readonly controller: TurnController
  readonly handler: Dispatcher.DispatchHandler
}

type Told<Name extends keyof Dispatcher.DispatchHandler> = Parameters<
  NonNullable<Dispatcher.DispatchHandler[Name]>
>

/** Hands on what becomes of a request whose turn has come, and listens for what its answer says about further ones. */
export class TurnHandler implements Dispatcher.DispatchHandler {
  readonly #turns: RequestTurns
  readonly #key: string
  readonly #controller: TurnController
  readonly #handler: Dispatcher.DispatchHandler

  constructor({ turns, key, controller, handler }: Departed) {
    this.#turns = turns
    this.#key = key
    this.#controller = controller
    this.#handler = handler
  }

  onRequestStart(...[controller, context]: Told<'onRequestStart'>): void {
    this.#controller.connect(controller)
    this.#handler.onRequestStart?.(this.#controller, context)
  }

  onRequestUpgrade(...[, ...told]: Told<'onRequestUpgrade'>): void {
    this.#handler.onRequestUpgrade?.(this.#controller, ...told)
  }

  onResponseStart(...[, status, headers, message]: Told<'onResponseStart'>): void {
    // Not waited for: at the latest the next request in turn finds the key frozen.
    if (status >= 200) void this.#turns.heard(this.#key, status, (name) => textOf(headers[name]))
    this.#handler.onResponseStart?.(this.#controller, status, headers, message)
  }

  onResponseData(...[, chunk]: Told<'onResponseData'>): void {
    this.#handler.onResponseData?.(this.#controller, chunk)
  }

  onResponseEnd(...[, trailers]: Told<'onResponseEnd'>): void {
    this.#handler.onResponseEnd?.(this.#controller, trailers)
  }

  onResponseError(...[, error]: Told<'onResponseError'>): void {
    this.#handler.onResponseError?.(this.#controller, error)
  }
}

/** A field that came several times is a list, as fetch gives it. */
function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}
