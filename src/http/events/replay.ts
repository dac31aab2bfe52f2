/** An event that may be told again. */
export interface Kept {
  /** Each is larger than that of the event before. */
  readonly number: number
  readonly type: string
  readonly key: string
  readonly text: string
}

type Dropped = Omit<Kept, 'text'>

/** What a listener gets that comes back. */
export interface Missed {
  /** In their order. */
  readonly events: readonly Kept[]
  /** Events that are not told any more. */
  readonly count: number
  /** There may have been more than `count`. */
  readonly isAtLeast: boolean
}

/** Of one key. */
const MOST_OF_KEY = 1_000
/** Of all keys together; also of keys with events that are not counted any more. */
const MOST = 5_000
/** Told again at once: half of what a stream may be behind, which leaves room for the views that it begins with. */
const MOST_TOLD = 1_000
const MOST_BYTES = 524_288
/** Events that are gone and still counted. */
const MOST_COUNTED = 10_000

/**
 * The last events of each key. A loud key cannot use up what is kept of a quiet one, or what a stream of both is told: where
 * there is no room for all, the keys with most events give up their oldest, down to one level; and beyond 5,000 keys those that were quiet for longest are
 * forgotten. It holds up to twice as much before it is cut, so that cutting costs nothing to speak of.
 */
export class Replay {
  /** The key that had an event last comes last. */
  readonly #keys = new Map<string, Kept[]>()
  #size = 0
  #dropped: Dropped[] = []
  /** By key and type, the last event that is gone and not counted. */
  readonly #forgotten = new Map<string, Dropped>()
  /** Events of any key up to this number may be gone without being counted. */
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
    const ofKeys = [...this.#keys.values()]
      .map((events) => (events.at(-1)!.number > number ? events.filter(isMissed) : []))
      .filter(({ length }) => length > 0)
    const kept = ofKeys.reduce((total, { length }) => total + length, 0)
    let most = MOST_TOLD
    let events = lastOf(ofKeys, most)
    while (most > 1 && bytesOf(events) > MOST_BYTES) {
      most >>= 1
      events = lastOf(ofKeys, most)
    }
    return {
      events,
      count: kept - events.length + this.#dropped.filter(isMissed).length,
      isAtLeast: number < this.#uncounted || [...this.#forgotten.values()].some(isMissed),
    }
  }

  /** Forgets all; events up to this number are gone, heard or not. */
  clear(number: number): void {
    this.#keys.clear()
    this.#size = 0
    this.#dropped = []
    this.#forgotten.clear()
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
    const level = levelOf([...this.#keys.values()], MOST)
    for (const events of this.#keys.values()) this.#trim(events, level)
  }

  #forgetDropped(): void {
    for (const event of this.#dropped.splice(0, this.#dropped.length - MOST_COUNTED)) {
      const name = `${event.type} ${event.key}`
      this.#forgotten.delete(name)
      this.#forgotten.set(name, event)
    }
    for (const [name, { number }] of this.#forgotten) {
      if (this.#forgotten.size <= MOST) break
      this.#forgotten.delete(name)
      this.#uncounted = Math.max(this.#uncounted, number)
    }
  }
}

/** The last events of each key, so many in all, and in their order; the keys with most give up their oldest. */
function lastOf(ofKeys: readonly (readonly Kept[])[], most: number): readonly Kept[] {
  const level = levelOf(ofKeys, most)
  return ofKeys
    .flatMap((events) => events.slice(-level))
    .sort((one, other) => one.number - other.number)
    .slice(-most)
}

function bytesOf(events: readonly Kept[]): number {
  return events.reduce((total, { text }) => total + Buffer.byteLength(text), 0)
}

/** The most that each may have so that all together have no more than `most`; at least 1. */
function levelOf(lists: readonly (readonly unknown[])[], most: number): number {
  const listsOfSize = new Uint32Array(2 * MOST_OF_KEY + 1)
  for (const { length } of lists) listsOfSize[length]!++
  let longer = lists.length
  let total = 0
  for (let level = 1; ; level++) {
    longer -= listsOfSize[level - 1]!
    total += longer
    if (total > most || longer === 0) return Math.max(1, level - 1)
  }
}
