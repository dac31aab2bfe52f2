import { EventEmitter } from 'node:events'
import type { ShaperEvents } from '../core/events.ts'

/**
 * Tells listeners what happened. A listener that throws harms neither the others' jobs nor the line: its error goes
 * to the `error` listeners, and where there is none it becomes a warning of the process.
 */
export class Emitter<Result> {
  readonly #events = new EventEmitter()

  on<Name extends keyof ShaperEvents<Result>>(
    name: Name,
    listener: (...event: ShaperEvents<Result>[Name]) => void,
  ): void {
    this.#events.on(name, listener)
  }

  off<Name extends keyof ShaperEvents<Result>>(
    name: Name,
    listener: (...event: ShaperEvents<Result>[Name]) => void,
  ): void {
    this.#events.off(name, listener)
  }

  /** Whether it is worth making the event. */
  hears(name: keyof ShaperEvents<Result>): boolean {
    return this.#events.listenerCount(name) > 0
  }

  emit<Name extends Exclude<keyof ShaperEvents<Result>, 'error'>>(
    name: Name,
    ...event: ShaperEvents<Result>[Name]
  ): void {
    try {
      this.#events.emit(name, ...event)
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  fail(error: Error): void {
    if (!this.hears('error')) {
      process.emitWarning(error)
      return
    }
    try {
      this.#events.emit('error', error)
    } catch (second) {
      process.emitWarning(second instanceof Error ? second : String(second))
    }
  }
}
