import type { Dispatcher } from 'undici'
import type { Turn } from '../line/turn.ts'
import { PassingCopy } from './answer-copy.ts'
import type { RequestTurns } from './request-turns.ts'
import type { TurnController } from './turn-controller.ts'

interface Departed {
  readonly turns: RequestTurns
  /** Holds its place until the response has ended, and said what it counted. */
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
  #copy: PassingCopy | undefined
  #settled: Promise<void> | undefined

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
    if (status >= 200) {
      const header = (name: string) => textOf(headers[name.toLowerCase()])
      void this.#turns.observe(this.#departed.key, status, header)
      this.#settled = this.#turns.settle(this.#departed, {
        status,
        headers: { get: (name) => header(name) ?? null },
        read: () => {
          this.#copy = new PassingCopy()
          return this.#copy.read(header('content-encoding'))
        },
      })
    }
    this.#handler.onResponseStart?.(this.#controller, status, headers, message)
  }

  onResponseData(...[, chunk]: Args<'onResponseData'>): void {
    this.#copy?.add(chunk)
    this.#handler.onResponseData?.(this.#controller, chunk)
  }

  onResponseEnd(...[, trailers]: Args<'onResponseEnd'>): void {
    this.#end(true)
    this.#handler.onResponseEnd?.(this.#controller, trailers)
  }

  onResponseError(...[, error]: Args<'onResponseError'>): void {
    this.#end(false)
    this.#handler.onResponseError?.(this.#controller, error)
  }

  #end(isWhole: boolean): void {
    this.#copy?.end(isWhole)
    if (this.#settled === undefined) void this.#departed.release()
    else void this.#settled.then(() => this.#departed.release())
  }
}

/** A repeated field is a list, as in fetch. */
function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}
