import type { Delivery } from '../transport/transport.ts'
import type { Following } from './slot-runs.ts'

/**
 * What became of a job at the gate.
 *
 * | fate    | meaning                                                      |
 * |---------|--------------------------------------------------------------|
 * | open    | it waits for its turn, its slot or a handler                 |
 * | started | its handler was called                                       |
 * | back    | this worker gives it back to its line                        |
 * | expired | its deadline passed while it waited                          |
 * | dropped | it belongs to another worker, ended, or is in its line again |
 */
export type Fate = 'open' | 'started' | 'back' | 'expired' | 'dropped'

/** Calls `onSignal` once, never synchronously. Returns a function that cancels it. */
export type Signal = (onSignal: () => void) => () => void

/** A job that waits at the gate. */
export class GateEntry {
  readonly job: Delivery
  /** Absent: it was delivered by itself. */
  readonly following: Following | undefined
  /** Do not ask the store before; local time. */
  askAt = 0
  /** It goes back because another worker may have a handler for it. */
  isUrgent = false
  /** Resolves when it is not open any more. */
  readonly decided: Promise<void>
  /** Resolves when the job need not be held any more; undefined unless it was started. */
  run: Promise<void> | undefined
  #fate: Fate = 'open'
  #resolve: () => void = () => undefined
  #wake: (() => void) | undefined

  constructor(job: Delivery, following?: Following) {
    this.job = job
    this.following = following
    this.decided = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  get fate(): Fate {
    return this.#fate
  }

  get isOpen(): boolean {
    return this.#fate === 'open'
  }

  start(run: Promise<void>): void {
    this.run = run
    this.#decide('started')
  }

  /** Does nothing where its fate is decided already. */
  decide(fate: 'back' | 'expired' | 'dropped'): void {
    this.#decide(fate)
  }

  #decide(fate: Fate): void {
    if (this.#fate !== 'open') return
    this.#fate = fate
    this.#resolve()
    this.#wake?.()
  }

  /** Resolves with the first of several signals, or when its fate is decided. */
  async wait(...signals: Signal[]): Promise<void> {
    if (!this.isOpen) return
    let cancels: (() => void)[] = []
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      cancels = signals.map((signal) => signal(resolve))
    })
    this.#wake = undefined
    for (const cancel of cancels) cancel()
  }
}
