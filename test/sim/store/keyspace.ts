import { refuse, WRONG_TYPE } from './reply.ts'
import { HashValue, SetValue } from './values/hash.ts'
import { ListValue } from './values/list.ts'
import { SortedSetValue } from './values/sorted-set.ts'
import { StreamValue } from './values/stream.ts'

export type Stored = string | HashValue | ListValue | SetValue | SortedSetValue | StreamValue

/** What a key costs besides its value. */
const OVERHEAD = 64

/** What a keyspace needs of its server. */
export interface KeyspaceHost {
  /** The time at which the running command began, in milliseconds. */
  readonly nowMs: number
  /** A key was changed, or is gone. */
  changed(keyspace: Keyspace, key: string): void
}

/** One database: keys, their values, and when they end. */
export class Keyspace {
  readonly values = new Map<string, Stored>()
  /** In milliseconds. */
  readonly expires = new Map<string, number>()
  readonly #host: KeyspaceHost

  constructor(host: KeyspaceHost) {
    this.#host = host
  }

  find(key: string): Stored | undefined {
    const value = this.values.get(key)
    if (value === undefined || this.expires.size === 0) return value
    const end = this.expires.get(key)
    if (end === undefined || end > this.#host.nowMs) return value
    this.delete(key)
    return undefined
  }

  text(key: string): string | undefined {
    const value = this.find(key)
    return value === undefined || typeof value === 'string' ? value : refuse(WRONG_TYPE)
  }

  hash(key: string): HashValue | undefined {
    const value = this.find(key)
    return value === undefined || value instanceof HashValue ? value : refuse(WRONG_TYPE)
  }

  list(key: string): ListValue | undefined {
    const value = this.find(key)
    return value === undefined || value instanceof ListValue ? value : refuse(WRONG_TYPE)
  }

  members(key: string): SetValue | undefined {
    const value = this.find(key)
    return value === undefined || value instanceof SetValue ? value : refuse(WRONG_TYPE)
  }

  sortedSet(key: string): SortedSetValue | undefined {
    const value = this.find(key)
    return value === undefined || value instanceof SortedSetValue ? value : refuse(WRONG_TYPE)
  }

  stream(key: string): StreamValue | undefined {
    const value = this.find(key)
    return value === undefined || value instanceof StreamValue ? value : refuse(WRONG_TYPE)
  }

  /** Puts a new value there, without an end. */
  put(key: string, value: Stored): void {
    this.values.set(key, value)
    this.expires.delete(key)
    this.touch(key)
  }

  /** To be called after a value was changed in place: one without items is no more. */
  settle(key: string, value: Exclude<Stored, string>): void {
    if (value.size === 0 && !(value instanceof StreamValue)) this.delete(key)
    else this.touch(key)
  }

  touch(key: string): void {
    this.#host.changed(this, key)
  }

  delete(key: string): boolean {
    if (!this.values.delete(key)) return false
    this.expires.delete(key)
    this.touch(key)
    return true
  }

  /** Whether its end has come, though it may still be kept. */
  hasEnded(key: string): boolean {
    return (this.expires.get(key) ?? Number.POSITIVE_INFINITY) <= this.#host.nowMs
  }

  /** All keys that have not ended; those that have stay until something looks at them. */
  *keys(): Generator<string> {
    for (const key of this.values.keys()) if (!this.hasEnded(key)) yield key
  }

  /** Removes what has ended. */
  expireAll(): void {
    for (const [key, end] of this.expires) if (end <= this.#host.nowMs) this.delete(key)
  }

  /** About so much memory. */
  get bytes(): number {
    let sum = 0
    for (const [key, value] of this.values) {
      sum += OVERHEAD + key.length + (typeof value === 'string' ? value.length : value.bytes)
    }
    return sum
  }

  /** Takes over all of another database, whose values stay apart. */
  load(from: Pick<Keyspace, 'values' | 'expires'>): void {
    this.values.clear()
    this.expires.clear()
    for (const [key, value] of from.values) {
      this.values.set(key, typeof value === 'string' ? value : value.copy())
    }
    for (const [key, end] of from.expires) this.expires.set(key, end)
  }
}
