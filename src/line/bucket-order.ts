import { z } from 'zod'
import type { BucketView } from '../core/bucket-view.ts'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { isUnder } from '../core/key.ts'
import type { BucketQuery, SortColumn } from './bucket-query.ts'

/** The facts of a bucket that decide its place on a page. */
export type BucketFacts = Pick<BucketView, SortColumn | 'waitingSince'>

/** Where a bucket stands among the others. Ties are in the order of their keys, so every place is another. */
export interface Place {
  readonly value: string | number
  readonly key: string
}

const TEXT_COLUMNS: ReadonlySet<SortColumn> = new Set(['key', 'pattern', 'state'])

/** The order that a query asks for. */
export class BucketOrder {
  readonly sort: BucketQuery['sort']
  readonly column: SortColumn
  readonly isDescending: boolean
  /** Whether its values are texts, and not numbers. */
  readonly isText: boolean
  /** Whether its values change by the mere passing of time. */
  readonly isOfNow: boolean

  constructor(sort: BucketQuery['sort']) {
    this.sort = sort
    this.isDescending = sort.startsWith('-')
    this.column = (this.isDescending ? sort.slice(1) : sort) as SortColumn
    this.isText = TEXT_COLUMNS.has(this.column)
    this.isOfNow = this.column === 'nextDepartureAt' || this.column === 'state'
  }

  /** What a bucket is sorted by. A wait grows while pages are turned; the time when it began does not. */
  valueOf(bucket: BucketFacts): string | number {
    if (this.column === 'oldestWaitMs') return -(bucket.waitingSince ?? Number.MAX_VALUE)
    return bucket[this.column] ?? 0
  }

  /** Less than 0 where `a` stands before `b`. */
  compare(a: Place, b: Place): number {
    if (a.value === b.value) return compareText(a.key, b.key)
    const isLess = this.isText
      ? compareText(String(a.value), String(b.value)) < 0
      : Number(a.value) < Number(b.value)
    return isLess === this.isDescending ? 1 : -1
  }
}

/** Whether a query asks for the bucket. */
export function isAskedFor(bucket: BucketFacts, query: BucketQuery): boolean {
  const { prefix, under, pattern, minFill, maxFill = Infinity, state, minOldestWaitMs = 0 } = query
  if (!bucket.key.startsWith(prefix) || (under !== undefined && !isUnder(bucket.key, under))) return false
  if (bucket.fill < minFill || bucket.fill > maxFill) return false
  if (pattern !== undefined && bucket.pattern !== pattern) return false
  if (state !== undefined && bucket.state !== state) return false
  return minOldestWaitMs === 0 || bucket.oldestWaitMs >= minOldestWaitMs
}

/** Keeps the first places of all that are offered, after a given one or from the beginning. */
export class FirstPlaces {
  readonly #order: BucketOrder
  readonly #after: Place | undefined
  readonly #most: number
  readonly #places: Place[] = []
  readonly #keys = new Set<string>()

  constructor(order: BucketOrder, after: Place | undefined, most: number) {
    this.#order = order
    this.#after = after
    this.#most = most
  }

  /** In their order. */
  get places(): readonly Place[] {
    return this.#places
  }

  /** Only places before this one are wanted; undefined while there is room for any. */
  get last(): Place | undefined {
    return this.#places.length < this.#most ? undefined : this.#places.at(-1)
  }

  /** One that was taken already stays where it is: a bucket may be met twice. */
  offer(value: string | number, key: string): void {
    const place = { value, key }
    const { last } = this
    if (last !== undefined && this.#order.compare(place, last) >= 0) return
    if (this.#after !== undefined && this.#order.compare(place, this.#after) <= 0) return
    if (this.#keys.has(key)) return
    this.#keys.add(key)
    this.#places.splice(this.#indexOf(place), 0, place)
    if (this.#places.length > this.#most) this.#keys.delete(this.#places.pop()!.key)
  }

  #indexOf(place: Place): number {
    let [from, to] = [0, this.#places.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.#order.compare(this.#places[middle]!, place) < 0) from = middle + 1
      else to = middle
    }
    return from
  }
}

/**
 * Where a page ended. `at`, for values that change with time, is when the first page was requested, in microseconds: all is sorted as
 * it was then, or it would move while pages are turned; else 0. `seen`: how many came before.
 */
export interface Bookmark extends Place {
  readonly at: number
  readonly seen: number
}

const bookmarkSchema = z.tuple([
  z.string(),
  z.union([z.string(), z.number()]),
  z.string().min(1),
  z.number(),
  z.int().min(0),
])

export function encodeCursor({ sort }: BucketOrder, { value, key, at, seen }: Bookmark): string {
  return Buffer.from(JSON.stringify([sort, value, key, at, seen])).toString('base64url')
}

/** @throws InvalidOptionsError */
export function readCursor(
  { cursor }: Pick<BucketQuery, 'cursor'>,
  order: BucketOrder,
  verb = 'buckets',
): Bookmark | undefined {
  if (cursor === undefined) return undefined
  try {
    const [sort, value, key, at, seen] = bookmarkSchema.parse(
      JSON.parse(Buffer.from(cursor, 'base64url').toString()),
    )
    if (sort === order.sort && (typeof value === 'string') === order.isText) return { value, key, at, seen }
  } catch {
    // Said below.
  }
  throw new InvalidOptionsError(
    `${verb}: expected cursor to come from an earlier page of the same order, got: ${quote(cursor)}`,
  )
}

/** By code points, as the bytes of UTF-8 are; by units of UTF-16 the pairs would come before U+E000. */
function compareText(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  for (let index = 0; index < shorter; index++) {
    const one = a.charCodeAt(index)
    const other = b.charCodeAt(index)
    if (one !== other) return weightOf(one) - weightOf(other)
  }
  return a.length - b.length
}

const FIRST_SURROGATE = 0xd800
const LAST_SURROGATE = 0xdfff

function weightOf(unit: number): number {
  if (unit < FIRST_SURROGATE) return unit
  return unit <= LAST_SURROGATE ? unit + 0x10000 : unit
}
