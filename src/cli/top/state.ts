import type { BucketQueryInput } from '../../line/bucket-query.ts'
import type { Key } from '../keyboard.ts'

/** The choices of the user of `top`. */
export interface TopState {
  /** Only keys that begin with this. */
  readonly prefix: string
  /** During typing of a prefix: the previous prefix, for Escape. */
  readonly before?: string | undefined
  /** Only buckets at least this full, 0 to 1. */
  readonly minFill: number
  readonly sort: SortColumn
  /** Reverses the natural order of the column. */
  readonly isReversed: boolean
  /** The number of rows above the screen. */
  readonly offset: number
  /** Set when the user quits: by `q` or by Ctrl-C. */
  readonly leaving?: 'quit' | 'interrupt'
}

/** The number of all rows, and of those on the screen. */
export interface TopRows {
  readonly total: number
  readonly seen: number
}

/** Columns to sort by: the field of a bucket, and whether the largest value comes first. */
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
/** The last row to scroll to: every row further down makes each read longer. */
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

/** The state after a key press. */
export function press(state: TopState, key: Key, rows: TopRows): TopState {
  if (key.name === 'interrupt') return { ...state, leaving: 'interrupt' }
  const offset = scroll(state.offset, key, rows)
  if (offset !== undefined) return { ...state, offset }
  return state.before === undefined ? command(state, key) : type(state, state.before, key)
}

/** The query for the state, without its limit. */
export function queryOf({ prefix, minFill, sort, isReversed }: TopState): BucketQueryInput {
  const { field } = SORTS[sort]
  return { prefix, minFill, sort: isDescending({ sort, isReversed }) ? `-${field}` : field }
}

/** Whether the largest value comes first. */
export function isDescending({ sort, isReversed }: Pick<TopState, 'sort' | 'isReversed'>): boolean {
  return SORTS[sort].isDescending !== isReversed
}

/** Limits the offset after the number of rows or the size of the screen has changed. */
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

/** Handles a key during typing; the filter applies immediately. */
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

/** The next value, cyclically. */
function following<Value>(values: readonly Value[], value: Value): Value {
  return values[(values.indexOf(value) + 1) % values.length]!
}
