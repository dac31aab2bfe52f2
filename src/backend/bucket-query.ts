import { z } from 'zod'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import type { BucketView } from '../core/job.ts'

const SORT_FIELDS = [
  'key',
  'fill',
  'waiting',
  'jobs',
  'running',
  'nextDepartureAt',
  'oldestWaitMs',
  'lastUsedAt',
] as const
type SortField = (typeof SORT_FIELDS)[number]

/** Which live buckets to list, and in which order. */
export const bucketQuerySchema = z.strictObject({
  /** Only keys that begin with this text. Default: every key. */
  prefix: z.string().default(''),
  /** Only buckets at least this full, 0 to 1. Default 0. */
  minFill: z.number().min(0).max(1).default(0),
  /** Only buckets at most this full. A lowered capacity can leave a fill above 1, so there is no default. */
  maxFill: z.number().min(0).optional(),
  /** Only buckets in this state. Default: in whichever. */
  state: z.enum(['idle', 'waiting', 'full', 'frozen', 'paused']).optional(),
  /** A field of the view, with `-` in front for the largest first. Default `-fill`. */
  sort: z.enum([...SORT_FIELDS, ...SORT_FIELDS.map((field) => `-${field}` as const)]).default('-fill'),
  /** Buckets on a page, 1 to 1,000. Default 100. */
  limit: z.int().min(1).max(1_000).default(100),
  /** The `cursor` of the page before. */
  cursor: z.string().optional(),
})

export type BucketQueryInput = z.input<typeof bucketQuerySchema>
export type BucketQuery = z.output<typeof bucketQuerySchema>

/** One page of live buckets. */
export interface BucketPage {
  readonly buckets: readonly BucketView[]
  /** How many buckets the query matches, on all pages. */
  readonly total: number
  /** Pass it on to get the next page; absent on the last. */
  readonly cursor?: string
}

/** Filters, sorts and cuts one page out of all views. Ties are broken by key, so pages neither repeat nor skip. */
export function pageOf(views: Iterable<BucketView>, query: BucketQuery): BucketPage {
  const descending = query.sort.startsWith('-')
  const field = (descending ? query.sort.slice(1) : query.sort) as SortField
  const rank = (a: Place, b: Place) =>
    compare(a.value, b.value) * (descending ? -1 : 1) || compare(a.key, b.key)
  const placed = [...filter(views, query)].map((view) => ({
    view,
    key: view.key,
    value: rankOf(view, field),
  }))
  placed.sort(rank)
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
  const from = after === undefined ? 0 : placed.findIndex((place) => rank(place, after) > 0)
  const page = from === -1 ? [] : placed.slice(from, from + query.limit)
  const last = page.at(-1)
  const isMore = last !== undefined && from + page.length < placed.length
  return {
    buckets: page.map(({ view }) => view),
    total: placed.length,
    ...(isMore && { cursor: encodeCursor(last) }),
  }
}

/** What a view is sorted by. A wait grows while pages are turned; the time when it began does not. */
function rankOf(view: BucketView, field: SortField): string | number {
  if (field === 'oldestWaitMs') return -(view.waitingSince ?? Number.MAX_VALUE)
  return view[field] ?? 0
}

interface Place {
  readonly value: string | number
  readonly key: string
}

function* filter(views: Iterable<BucketView>, query: BucketQuery): Generator<BucketView> {
  const { prefix, minFill, maxFill = Number.POSITIVE_INFINITY, state } = query
  for (const view of views) {
    if (!view.key.startsWith(prefix) || view.fill < minFill || view.fill > maxFill) continue
    if (state === undefined || view.state === state) yield view
  }
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function encodeCursor({ value, key }: Place): string {
  return Buffer.from(JSON.stringify([value, key])).toString('base64url')
}

const cursorSchema = z.tuple([z.union([z.string(), z.number()]), z.string()])

function decodeCursor(cursor: string): Place {
  try {
    const [value, key] = cursorSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    return { value, key }
  } catch {
    throw new InvalidOptionsError(
      `buckets: expected cursor to come from an earlier page, got: ${quote(cursor)}`,
    )
  }
}
