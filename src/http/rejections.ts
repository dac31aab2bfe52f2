import type { Shaper } from '../shaper/shaper.ts'
import type { Source } from './audience.ts'

/** Counts who is turned away in this process, while somebody looks: the line keeps no count of them. */
export class Rejections implements Source {
  readonly types = ['flow'] as const
  readonly #shaper: Shaper
  readonly #onRejected = () => void this.#count++
  #count = 0
  #isListening = false

  constructor(shaper: Shaper) {
    this.#shaper = shaper
  }

  get count(): number {
    return this.#count
  }

  start(): void {
    if (this.#isListening) return
    this.#isListening = true
    this.#shaper.on('rejected', this.#onRejected)
  }

  stop(): void {
    if (!this.#isListening) return
    this.#isListening = false
    this.#shaper.off('rejected', this.#onRejected)
  }
}
