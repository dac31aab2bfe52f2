import type { Shaper } from '../../shaper/shaper.ts'
import { type Audience, eventText, type Source } from './audience.ts'

/**
 * Tells that the rule book changed: once for all that changes in one tick, a file of a hundred limits say. A change that
 * alters no rule's effect, and so makes no event, shows in the version alone: that is held against the last one now and
 * then.
 */
export class RuleNews implements Source {
  readonly types = ['rules'] as const
  readonly #shaper: Shaper
  readonly #audience: Audience
  readonly #onLimit = () => this.#tellSoon()
  #told = 0
  #isListening = false
  #isAboutToTell = false

  constructor(shaper: Shaper, audience: Audience) {
    this.#shaper = shaper
    this.#audience = audience
  }

  start(): void {
    if (this.#isListening) return
    this.#isListening = true
    this.#told = this.#shaper.limits.version
    this.#shaper.on('limit', this.#onLimit)
    this.#shaper.on('localLimit', this.#onLimit)
  }

  stop(): void {
    if (!this.#isListening) return
    this.#isListening = false
    this.#shaper.off('limit', this.#onLimit)
    this.#shaper.off('localLimit', this.#onLimit)
  }

  /** For a newcomer, who may have read the rules a moment before. */
  text(): string {
    return eventText('rules', { version: this.#shaper.limits.version })
  }

  look(): void {
    if (this.#isListening && this.#shaper.limits.version !== this.#told) this.#tell()
  }

  #tellSoon(): void {
    if (this.#isAboutToTell) return
    this.#isAboutToTell = true
    setImmediate(() => {
      this.#isAboutToTell = false
      this.#tell()
    })
  }

  #tell(): void {
    this.#told = this.#shaper.limits.version
    const text = this.text()
    this.#audience.tell('rules', () => text)
  }
}
