import type { EventType, Subscription } from './subscription.ts'

/** One open stream of events. */
export interface Subscriber extends Subscription {
  /** Whether its token is still accepted; checked before every write. */
  isAuthorized(): boolean
  /** Writes the text of an event or a comment. */
  write(text: string): void
  end(): void
  /** Called once, after it was removed. */
  onEnd(): void
}

/** A source of events, which runs only while a subscriber wants one of its types. */
export interface Source {
  readonly types: readonly EventType[]
  /** Safe to call twice, as is `stop`. */
  start(): void
  stop(): void
}

/** All open streams of events. */
export class Subscribers {
  readonly #subscribers = new Set<Subscriber>()
  readonly #onRemove: () => void

  /** @param onRemove called after a stream has ended */
  constructor(onRemove: () => void) {
    this.#onRemove = onRemove
  }

  get size(): number {
    return this.#subscribers.size
  }

  add(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber)
  }

  remove(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return
    subscriber.onEnd()
    this.#onRemove()
  }

  endAll(): void {
    for (const subscriber of [...this.#subscribers]) this.#end(subscriber)
  }

  wants(types: readonly EventType[]): boolean {
    return this.#subscribersOf(types).next().done !== true
  }

  /** One subscription for each group of equal ones, by the name of the group. */
  groups(
    type: EventType,
    groupOf: (subscription: Subscription) => string,
  ): ReadonlyMap<string, Subscription> {
    return new Map([...this.#subscribersOf([type])].map((subscriber) => [groupOf(subscriber), subscriber]))
  }

  /** Sends to the subscribers of a type; undefined skips one. */
  send(type: EventType, textFor: (subscriber: Subscriber) => string | undefined): void {
    for (const subscriber of this.#subscribersOf([type])) this.#sendTo(subscriber, textFor(subscriber))
  }

  sendAll(text: string): void {
    for (const subscriber of this.#subscribers) this.#sendTo(subscriber, text)
  }

  *#subscribersOf(types: readonly EventType[]): Generator<Subscriber> {
    for (const subscriber of this.#subscribers) {
      if (types.some((type) => subscriber.types.has(type))) yield subscriber
    }
  }

  #sendTo(subscriber: Subscriber, text: string | undefined): void {
    if (!subscriber.isAuthorized()) this.#end(subscriber)
    else if (text !== undefined) subscriber.write(text)
  }

  #end(subscriber: Subscriber): void {
    this.remove(subscriber)
    subscriber.end()
  }
}

/** The text of an event. JSON holds no raw line ends, so no value can begin another event. */
export function eventText(type: EventType | 'missed', data: object, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}
