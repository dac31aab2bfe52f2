/** What is asked of a product: `count` starts per `periodMs`, for each key. */
export interface Pace {
  readonly count: number
  readonly periodMs: number
  /** Of meters: units that go in at once. Absent: as many as the count. */
  readonly capacity?: number
  /** Never closer than the interval, if a product has such an option. */
  readonly isStrict?: true
}

/** The same small payload for everybody. */
export interface Payload {
  readonly to: string
  readonly text: string
}

/** The handler: called by the product when it lets a job start. */
export type Start = (key: string, data: Payload) => void

/** Hands a job over. A product that answers at admission resolves then; the others have nothing to say. */
export type Enqueue = (key: string, data: Payload) => Promise<unknown> | undefined

/** All that the scenarios know of a product. Every measurement has a process of its own, so nothing is closed. */
export interface Product {
  readonly name: string
  /** How it was configured, as its users would write it. */
  setting(pace: Pace): string
  /** A line per key, made when the key is first seen. */
  open(pace: Pace, start: Start): Enqueue
}

/** The interval T of a pace, in milliseconds. */
export function intervalMs(pace: Pace): number {
  return pace.periodMs / pace.count
}

/** The value of a key, made when it is first asked for. */
export function perKey<Value>(create: (key: string) => Value): (key: string) => Value {
  const values = new Map<string, Value>()
  return (key) => {
    let value = values.get(key)
    if (value === undefined) {
      value = create(key)
      values.set(key, value)
    }
    return value
  }
}
