/** An event that can be sent again. */
export interface StoredEvent {
  /** Larger than that of the event before. */
  readonly number: number
  readonly type: string
  readonly key: string
  readonly text: string
}

type Dropped = Omit<StoredEvent, 'text'>

/** What a reconnecting client gets. */
export interface Missed {
  /** Ordered by number. */
  readonly events: readonly StoredEvent[]
  /** The number of events that are lost. */
  readonly count: number
  /** More than `count` may be lost. */
  readonly isAtLeast: boolean
}

/** Events of one key. */
const MOST_OF_KEY = 1_000
/** Events of all keys; also the number of keys with events that are no longer counted. */
const MOST = 5_000
/** Events to send again: at most half of a stream's backlog, which leaves room for its initial events. */
const MOST_REPLAYED = 1_000
const MOST_BYTES = 524_288
/** Dropped events that are still counted. */
const MOST_COUNTED = 10_000

/**
 * Stores the last events of each key. A busy key cannot displace the events of a quiet one: where there is no room for
 * all, the keys with the most events drop their oldest, down to one common level. Beyond 5,000 keys, those whose last
 * event is oldest are dropped. It holds up to twice as much before it trims, so that trimming costs little.
 */
export class Replay {
  /** Ordered by the last event of each key, the latest at the end. */
  readonly #keys = new Map<string, StoredEvent[]>()
  #size = 0
  #dropped: Dropped[] = []
  /** By key and type, the last dropped event that is no longer counted. */
  readonly #forgotten = new Map<string, Dropped>()
  /** Events of any key up to this number may be dropped without being counted. */
  #uncounted = 0

  add(event: StoredEvent): void {
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

  /** The events after the one with this number that match `isFor`. */
  since(number: number, isFor: (event: Dropped) => boolean): Missed {
    const isMissed = (event: Dropped) => event.number > number && isFor(event)
    const ofKeys = [...this.#keys.values()]
      .map((events) => (events.at(-1)!.number > number ? events.filter(isMissed) : []))
      .filter(({ length }) => length > 0)
    const kept = ofKeys.reduce((total, { length }) => total + length, 0)
    let most = MOST_REPLAYED
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

  /** Drops everything; events up to this number are lost, received or not. */
  clear(number: number): void {
    this.#keys.clear()
    this.#size = 0
    this.#dropped = []
    this.#forgotten.clear()
    this.#uncounted = number
  }

  #trim(events: StoredEvent[], most: number): void {
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

/** At most `most` events in order, the last of each key; the keys with the most events drop their oldest. */
function lastOf(ofKeys: readonly (readonly StoredEvent[])[], most: number): readonly StoredEvent[] {
  const level = levelOf(ofKeys, most)
  return ofKeys
    .flatMap((events) => events.slice(-level))
    .sort((one, other) => one.number - other.number)
    .slice(-most)
}

function bytesOf(events: readonly StoredEvent[]): number {
  return events.reduce((total, { text }) => total + Buffer.byteLength(text), 0)
}

/** The common maximum length at which all lists together have at most `most` entries; at least 1. */
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
