/** An event that may be told again. */
export interface Kept {
  /** Each is larger than that of the event before. */
  readonly number: number
  readonly type: string
  readonly key: string
  readonly text: string
}

type Dropped = Omit<Kept, 'text'>

/** What a listener gets who comes back. */
export interface Missed {
  /** In their order. */
  readonly events: readonly Kept[]
  /** Events that are not kept any more. */
  readonly count: number
  /** There may have been more than `count`. */
  readonly isAtLeast: boolean
}

/** Of one key. */
const MOST_OF_KEY = 1_000
/** Of all keys together. */
const MOST = 5_000
/** Told again at once: what a client that reads slowly must be able to take. */
const MOST_TOLD = 1_000
/** Events that are gone and still counted. */
const MOST_COUNTED = 10_000

/**
 * The last events of each key. A loud key cannot use up what is kept of a quiet one: where there is no room for all, those
 * that keep most give up their oldest, down to one level; and beyond 5,000 keys those that were quiet for longest are
 * forgotten. It holds up to twice as much before it is cut, so that cutting costs nothing to speak of.
 */
export class Replay {
  /** The key that had an event last comes last. */
  readonly #keys = new Map<string, Kept[]>()
  #size = 0
  #dropped: Dropped[] = []
  /** Events up to this number may be gone without being counted. */
  #uncounted = 0

  add(event: Kept): void {
    const { key } = event
    const events = this.#keys.get(key) ?? []
    this.#keys.delete(key)
    this.#keys.set(key, events)
    events.push(event)
    this.#size++
    if (events.length >= 2 * MOST_OF_KEY) this.#trim(events, MOST_OF_KEY)
    if (this.#size >= 2 * MOST) this.#cut()
    if (this.#dropped.length >= 2 * MOST_COUNTED) this.#forgetDropped()
  }

  /** What came after the event with this number, and is for the listener. */
  since(number: number, isFor: (event: Dropped) => boolean): Missed {
    const isMissed = (event: Dropped) => event.number > number && isFor(event)
    const kept = [...this.#keys.values()]
      .flatMap((events) => (events.at(-1)!.number > number ? events.filter(isMissed) : []))
      .sort((one, other) => one.number - other.number)
    const events = kept.slice(-MOST_TOLD)
    const count = kept.length - events.length + this.#dropped.filter(isMissed).length
    return { events, count, isAtLeast: number < this.#uncounted }
  }

  /** Forgets all; events up to this number are gone, heard or not. */
  clear(number: number): void {
    this.#keys.clear()
    this.#size = 0
    this.#dropped = []
    this.#uncounted = number
  }

  #trim(events: Kept[], most: number): void {
    const gone = events.splice(0, Math.max(0, events.length - most))
    this.#size -= gone.length
    for (const { number, type, key } of gone) this.#dropped.push({ number, type, key })
  }

  #cut(): void {
    for (const [key, events] of this.#keys) {
      if (this.#keys.size <= MOST) break
      this.#trim(events, 0)
      this.#keys.delete(key)
    }
    const level = levelOf([...this.#keys.values()].map(({ length }) => length))
    for (const events of this.#keys.values()) this.#trim(events, level)
  }

  #forgetDropped(): void {
    const forgotten = this.#dropped.splice(0, this.#dropped.length - MOST_COUNTED)
    for (const { number } of forgotten) this.#uncounted = Math.max(this.#uncounted, number)
  }
}

/** The most that each may keep so that all together keep no more than there is room for; at least 1. */
function levelOf(sizes: readonly number[]): number {
  const keysOfSize = new Uint32Array(2 * MOST_OF_KEY + 1)
  for (const size of sizes) keysOfSize[size]!++
  let keys = sizes.length
  let total = 0
  for (let level = 1; ; level++) {
    keys -= keysOfSize[level - 1]!
    total += keys
    if (total > MOST || keys === 0) return Math.max(1, level - 1)
  }
}
