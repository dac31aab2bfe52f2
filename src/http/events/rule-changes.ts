import type { Shaper } from '../../shaper/shaper.ts'
import { eventText, type Source, type Subscribers } from './subscribers.ts'

/**
 * The event `rules`, sent when the rule book has changed: once for all changes of one tick, such as a file of a hundred
 * limits. A change without any effect emits no event of the shaper and only changes the version, so the version is
 * compared periodically.
 */
export class RuleChanges implements Source {
  readonly types = ['rules'] as const
  readonly #shaper: Shaper
  readonly #subscribers: Subscribers
  readonly #onLimit = () => this.#sendSoon()
  #sentVersion = 0
  #isListening = false
  #isSendPending = false

  constructor(shaper: Shaper, subscribers: Subscribers) {
    this.#shaper = shaper
    this.#subscribers = subscribers
  }

  start(): void {
    if (this.#isListening) return
    this.#isListening = true
    this.#sentVersion = this.#shaper.limits.version
    this.#shaper.on('limit', this.#onLimit)
    this.#shaper.on('localLimit', this.#onLimit)
  }

  stop(): void {
    if (!this.#isListening) return
    this.#isListening = false
    this.#shaper.off('limit', this.#onLimit)
    this.#shaper.off('localLimit', this.#onLimit)
  }

  /** The text of the event, also sent to each new stream. */
  text(): string {
    return eventText('rules', { version: this.#shaper.limits.version })
  }

  check(): void {
    if (this.#isListening && this.#shaper.limits.version !== this.#sentVersion) this.#send()
  }

  #sendSoon(): void {
    if (this.#isSendPending) return
    this.#isSendPending = true
    setImmediate(() => {
      this.#isSendPending = false
      this.#send()
    })
  }

  #send(): void {
    this.#sentVersion = this.#shaper.limits.version
    const text = this.text()
    this.#subscribers.send('rules', () => text)
  }
}
