import type { BucketQueryInput } from '../../line/bucket-query.ts'
import type { Key } from '../keyboard.ts'

/** What the reader of `top` chose. */
export interface TopState {
  /** Only keys that begin with this. */
  readonly prefix: string
  /** While a prefix is typed: the one to go back to. */
  readonly before?: string | undefined
  /** Only buckets at least this full, 0 to 1. */
  readonly minFill: number
  readonly sort: SortColumn
  /** Against the natural order of the column. */
  readonly isReversed: boolean
  /** How many rows were scrolled away. */
  readonly offset: number
  /** Set when the reader wants to leave: by `q`, or by Ctrl-C. */
  readonly leaving?: 'quit' | 'interrupt'
}

/** How many rows of buckets there are, and how many of them are seen at once. */
export interface TopRows {
  readonly total: number
  readonly seen: number
}

/** Columns to sort by: the field of a bucket, and whether the largest naturally comes first. */
const SORTS = {
  fill: { field: 'fill', isDescending: true },
  waiting: { field: 'waiting', isDescending: true },
  oldest: { field: 'oldestWaitMs', isDescending: true },
  next: { field: 'nextDepartureAt', isDescending: true },
  running: { field: 'running', isDescending: true },
  key: { field: 'key', isDescending: false },
} as const

export type SortColumn = keyof typeof SORTS

export const SORT_COLUMNS = Object.keys(SORTS) as SortColumn[]
/** Each row further down makes every read longer; whoever looks for one filters. */
const MOST_ROWS = 5_000
const FILLS = [0, 0.5, 0.8, 1]
const LONGEST_PREFIX = 256

export const FIRST_STATE: TopState = {
  prefix: '',
  minFill: 0,
  sort: 'fill',
  isReversed: false,
  offset: 0,
}

/** What a key makes of the state. */
export function press(state: TopState, key: Key, rows: TopRows): TopState {
  if (key.name === 'interrupt') return { ...state, leaving: 'interrupt' }
  const offset = scroll(state.offset, key, rows)
  if (offset !== undefined) return { ...state, offset }
  return state.before === undefined ? command(state, key) : type(state, state.before, key)
}

/** The query that shows what the reader chose, without its length. */
export function queryOf({ prefix, minFill, sort, isReversed }: TopState): BucketQueryInput {
  const { field } = SORTS[sort]
  return { prefix, minFill, sort: isDescending({ sort, isReversed }) ? `-${field}` : field }
}

/** Whether the largest comes first. */
export function isDescending({ sort, isReversed }: Pick<TopState, 'sort' | 'isReversed'>): boolean {
  return SORTS[sort].isDescending !== isReversed
}

/** The state when there are only so many rows, or more of them are seen at once. */
export function clampOffset(state: TopState, rows: TopRows): TopState {
  const last = lastOffset(rows)
  return state.offset <= last ? state : { ...state, offset: last }
}

function command(state: TopState, { name, character }: Key): TopState {
  if (name === 'escape') return { ...state, prefix: '', minFill: 0, offset: 0 }
  switch (character) {
    case 'q':
    case 'Q':
      return { ...state, leaving: 'quit' }
    case '/':
      return { ...state, before: state.prefix }
    case 'f':
      return { ...state, minFill: FILLS.find((fill) => fill > state.minFill) ?? 0, offset: 0 }
    case 's':
      return { ...state, sort: following(SORT_COLUMNS, state.sort), isReversed: false, offset: 0 }
    case 'S':
      return {
        ...state,
        sort: following(SORT_COLUMNS.toReversed(), state.sort),
        isReversed: false,
        offset: 0,
      }
    case 'r':
      return { ...state, isReversed: !state.isReversed, offset: 0 }
    default:
      return state
  }
}

/** The filter is used while it is typed. */
function type(state: TopState, before: string, { name, character }: Key): TopState {
  switch (name) {
    case 'enter':
      return { ...state, before: undefined }
    case 'escape':
      return { ...state, before: undefined, prefix: before, offset: 0 }
    case 'backspace':
      return { ...state, prefix: [...state.prefix].slice(0, -1).join(''), offset: 0 }
    case 'erase-line':
      return { ...state, prefix: '', offset: 0 }
    default: {
      const prefix = state.prefix + (character ?? '')
      return Buffer.byteLength(prefix) > LONGEST_PREFIX ? state : { ...state, prefix, offset: 0 }
    }
  }
}

/** The new offset; undefined when the key does not scroll. */
function scroll(offset: number, { name }: Key, rows: TopRows): number | undefined {
  const last = lastOffset(rows)
  const page = Math.max(1, rows.seen - 1)
  const to = (wanted: number) => Math.max(0, Math.min(last, wanted))
  switch (name) {
    case 'up':
      return to(offset - 1)
    case 'down':
      return to(offset + 1)
    case 'page-up':
      return to(offset - page)
    case 'page-down':
      return to(offset + page)
    case 'home':
      return 0
    case 'end':
      return last
    default:
      return undefined
  }
}

function lastOffset({ total, seen }: TopRows): number {
  return Math.max(0, Math.min(total, MOST_ROWS) - seen)
}

/** The one after, or the first again. */
function following<Value>(values: readonly Value[], value: Value): Value {
  return values[(values.indexOf(value) + 1) % values.length]!
}
