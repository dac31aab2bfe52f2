import { EventEmitter } from 'node:events'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { SHAPER_EVENTS, type ShaperEvents } from '../core/events.ts'
import { nearest } from '../core/options.ts'
import { toError } from '../core/thrown.ts'

export type Listener<Result, Name extends keyof ShaperEvents<Result>> = (
  ...event: ShaperEvents<Result>[Name]
) => void

/**
 * Calls listeners in the order in which events happened: an event that a listener causes is delivered after the one that
 * it handles. A listener that throws affects neither the others nor the line: its error goes to the `error` listeners, and
 * where there is none it becomes a warning of the process.
 */
export class Emitter<Result> {
  /** Keeps the listeners. Its `emit` is not used, because it stops at the first listener that throws. */
  readonly #listeners = new EventEmitter()
  readonly #queue: (readonly [name: string, event: readonly unknown[]])[] = []
  #holds = 0

  on<Name extends keyof ShaperEvents<Result>>(name: Name, listener: Listener<Result, Name>): void {
    checkListener('on', name, listener)
    this.#listeners.on(name, listener)
  }

  off<Name extends keyof ShaperEvents<Result>>(name: Name, listener: Listener<Result, Name>): void {
    checkListener('off', name, listener)
    this.#listeners.off(name, listener)
  }

  /** Whether the event has a listener. */
  hears(name: keyof ShaperEvents<Result>): boolean {
    return this.#listeners.listenerCount(name) > 0
  }

  emit<Name extends Exclude<keyof ShaperEvents<Result>, 'error'>>(
    name: Name,
    ...event: ShaperEvents<Result>[Name]
  ): void {
    if (!this.hears(name)) return
    this.#queue.push([name, event])
    if (this.#holds === 0) this.#deliver()
  }

  /** Holds events back until as many calls of `release`. */
  hold(): void {
    this.#holds++
  }

  release(): void {
    if (--this.#holds === 0) this.#deliver()
  }

  #deliver(): void {
    this.#holds++
    // The queue may grow while it is delivered.
    for (const [name, event] of this.#queue) {
      for (const listener of this.#listeners.listeners(name)) this.#call(listener, event)
    }
    this.#queue.length = 0
    this.#holds--
  }

  /** Emits an error that no promise carries. */
  fail(error: Error): void {
    const listeners = this.#listeners.listeners('error')
    if (listeners.length === 0) process.emitWarning(error)
    for (const listener of listeners) {
      try {
        listener(error)
      } catch (second) {
        process.emitWarning(toError(second))
      }
    }
  }

  // EventEmitter calls its listeners functions and no more.
  #call(listener: CallableFunction, event: readonly unknown[]): void {
    try {
      const answer: unknown = listener(...event)
      // An async listener fails later, and its unhandled rejection would end the process.
      if (answer instanceof Promise) answer.catch((error: unknown) => this.fail(toError(error)))
    } catch (error) {
      this.fail(toError(error))
    }
  }
}

function checkListener(call: 'on' | 'off', name: unknown, listener: unknown): void {
  if (typeof name !== 'string' || !EVENTS.includes(name)) {
    const suggestion = typeof name === 'string' ? nearest(name, EVENTS) : undefined
    const hint = suggestion === undefined ? `one of ${EVENTS.join(', ')}` : `perhaps ${suggestion}`
    throw new InvalidOptionsError(`${call}: expected the name of an event, ${hint}, got: ${describe(name)}`)
  }
  if (typeof listener !== 'function') {
    throw new InvalidOptionsError(
      `${call}: expected the listener to be a function, got: ${describe(listener)}`,
    )
  }
}

const EVENTS: readonly string[] = SHAPER_EVENTS
