import type { Asked, EventType } from './stream-query.ts'

/** One who listens. */
export interface Listener extends Asked {
  /** Whether it may still listen; asked before it is told anything. */
  isWelcome(): boolean
  /** Gets the text of an event or a comment. */
  write(text: string): void
  end(): void
}

/** Something that listeners are told of, and that costs nothing while none of them wants it. */
export interface Source {
  readonly types: readonly EventType[]
  /** Safe to call twice, as is `stop`. */
  start(): void
  stop(): void
}

/** Everybody who listens. */
export class Audience {
  readonly #listeners = new Set<Listener>()
  readonly #onLeave: () => void

  /** @param onLeave somebody is gone */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  get size(): number {
    return this.#listeners.size
  }

  join(listener: Listener): void {
    this.#listeners.add(listener)
  }

  leave(listener: Listener): void {
    if (this.#listeners.delete(listener)) this.#onLeave()
  }

  dismissAll(): void {
    for (const listener of [...this.#listeners]) this.#dismiss(listener)
  }

  wants(types: readonly EventType[]): boolean {
    return this.#wanting(types).next().done !== true
  }

  /** By a name for what they ask for, one of each who ask for the same. */
  groups(type: EventType, nameOf: (asked: Asked) => string): ReadonlyMap<string, Asked> {
    return new Map([...this.#wanting([type])].map((listener) => [nameOf(listener), listener]))
  }

  /** Tells those who want the type; undefined: not this one. */
  tell(type: EventType, textFor: (listener: Listener) => string | undefined): void {
    for (const listener of this.#wanting([type])) this.#tellOne(listener, textFor(listener))
  }

  tellAll(text: string): void {
    for (const listener of this.#listeners) this.#tellOne(listener, text)
  }

  *#wanting(types: readonly EventType[]): Generator<Listener> {
    for (const listener of this.#listeners) {
      if (types.some((type) => listener.types.has(type))) yield listener
    }
  }

  #tellOne(listener: Listener, text: string | undefined): void {
    if (!listener.isWelcome()) this.#dismiss(listener)
    else if (text !== undefined) listener.write(text)
  }

  #dismiss(listener: Listener): void {
    this.leave(listener)
    listener.end()
  }
}

/** The text of an event. JSON has no line ends of its own, so no value can begin another event. */
export function eventText(type: EventType | 'missed', data: object, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}
