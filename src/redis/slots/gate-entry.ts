import type { Delivery } from '../transport/transport.ts'

/**
 * What became of a job at the gate.
 *
 * | fate    | meaning                                                      |
 * |---------|--------------------------------------------------------------|
 * | open    | it waits: for its turn, its slot or a handler                |
 * | started | its handler was called                                       |
 * | back    | this worker does not want it: the store shall have it back   |
 * | dropped | it is another's, ended, or in its line again: nothing to do  |
 */
export type Fate = 'open' | 'started' | 'back' | 'dropped'

/** Calls back once, never at once; calling the answer takes the wish back. */
export type Signal = (onSignal: () => void) => () => void

/** A job that waits at the gate. */
export class GateEntry {
  readonly job: Delivery
  /** Not to ask the store before; local time. */
  askAt = 0
  /** Resolves when it is open no more. */
  readonly decided: Promise<void>
  /** The rest of a job that was started. */
  run: Promise<void> | undefined
  #fate: Fate = 'open'
  #resolve: () => void = () => undefined
  #wake: (() => void) | undefined

  constructor(job: Delivery) {
    this.job = job
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

  /** The first fate is the last. */
  decide(fate: 'back' | 'dropped'): void {
    this.#decide(fate)
  }

  #decide(fate: Fate): void {
    if (this.#fate !== 'open') return
    this.#fate = fate
    this.#resolve()
    this.#wake?.()
  }

  /** Waits for the first of several signals, or for its fate. */
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
