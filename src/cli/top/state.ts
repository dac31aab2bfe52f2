import type { BucketQueryInput } from '../../line/bucket-query.ts'
import type { FamilyQueryInput } from '../../line/family-query.ts'
import type { Key } from '../keyboard.ts'

/** The choices of the user of `top`. */
export interface TopState {
  /** Shows totals, and not buckets. */
  readonly isFamilies: boolean
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
export interface RowCounts {
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
/** Those by which totals can be sorted, and the field of a total. */
const FAMILY_SORTS = { fill: 'fill', waiting: 'waiting', running: 'running', key: 'path' } as const

export type FamilySortColumn = keyof typeof FAMILY_SORTS

export const FAMILY_SORT_COLUMNS = Object.keys(FAMILY_SORTS) as FamilySortColumn[]
/** The last row to scroll to: every row further down makes each read longer. */
const MOST_ROWS = 5_000
const FILLS = [0, 0.5, 0.8, 1]
const LONGEST_PREFIX = 256

export const FIRST_STATE: TopState = {
  isFamilies: false,
  prefix: '',
  minFill: 0,
  sort: 'fill',
  isReversed: false,
  offset: 0,
}

/** The state after a key press. */
export function press(state: TopState, key: Key, rows: RowCounts): TopState {
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

/** The query for totals. What is typed is a key, and those below it are shown, its own among them. */
export function familiesOf({ prefix, sort, isReversed }: TopState): FamilyQueryInput {
  const under = prefix.replace(/\/+$/, '')
  const field = FAMILY_SORTS[familySort(sort)]
  return {
    ...(under !== '' && { under }),
    sort: isDescending({ sort, isReversed }) ? `-${field}` : field,
  }
}

/** What totals are sorted by in place of a column that they do not have. */
function familySort(sort: SortColumn): FamilySortColumn {
  return FAMILY_SORT_COLUMNS.find((column) => column === sort) ?? 'fill'
}

/** Whether the largest value comes first. */
export function isDescending({ sort, isReversed }: Pick<TopState, 'sort' | 'isReversed'>): boolean {
  return SORTS[sort].isDescending !== isReversed
}

/** Limits the offset after the number of rows or the size of the screen has changed. */
export function clampOffset(state: TopState, rows: RowCounts): TopState {
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
    case 't':
      return turn(state)
    case 'f':
      if (state.isFamilies) return state
      return { ...state, minFill: FILLS.find((fill) => fill > state.minFill) ?? 0, offset: 0 }
    case 's':
      return { ...state, sort: following(columnsOf(state), state.sort), isReversed: false, offset: 0 }
    case 'S':
      return {
        ...state,
        sort: following(columnsOf(state).toReversed(), state.sort),
        isReversed: false,
        offset: 0,
      }
    case 'r':
      return { ...state, isReversed: !state.isReversed, offset: 0 }
    default:
      return state
  }
}

/** From buckets to totals, or back. Totals have no filter by fill, and fewer columns. */
function turn(state: TopState): TopState {
  const isFamilies = !state.isFamilies
  return {
    ...state,
    isFamilies,
    offset: 0,
    ...(isFamilies && { minFill: 0, sort: familySort(state.sort) }),
  }
}

function columnsOf({ isFamilies }: TopState): readonly SortColumn[] {
  return isFamilies ? FAMILY_SORT_COLUMNS : SORT_COLUMNS
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
function scroll(offset: number, { name }: Key, rows: RowCounts): number | undefined {
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

function lastOffset({ total, seen }: RowCounts): number {
  return Math.max(0, Math.min(total, MOST_ROWS) - seen)
}

/** The next value, cyclically. */
function following<Value>(values: readonly Value[], value: Value): Value {
  return values[(values.indexOf(value) + 1) % values.length]!
}
