import type { BucketState } from '../../core/bucket-view.ts'
import { cutText, fitText, padText, plainText, showText, textWidth } from '../display-text.ts'
import type { ScreenSize } from '../full-screen.ts'
import { formatCount } from '../numbers.ts'
import { paint } from '../terminal.ts'
import { type BucketCells, bucketCells, fillBar } from './cells.ts'
import { hasParts, partsText } from './parts-text.ts'
import type { TopRow, TopRows } from './rows.ts'
import { isDescending, type TopState } from './state.ts'

export interface TopFrame {
  readonly state: TopState
  readonly found: TopRows
  /** The address of the line, without secrets. */
  readonly place: string
  /** Why the data may be old. */
  readonly errorText?: string | undefined
  /** Epoch milliseconds. */
  readonly now: number
}

const GAP = 2
/** Lines around the rows of buckets: three above, one below. */
const FRAME = 4
const LEAST_COLUMNS = 20

export const STATE_COLOURS: Readonly<Record<BucketState, Parameters<typeof paint>[0]>> = {
  idle: 'gray',
  waiting: 'green',
  full: 'red',
  frozen: 'cyan',
  paused: 'yellow',
}

/** The number of buckets that fit on the screen. */
export function rowsSeen({ rows }: ScreenSize): number {
  return Math.max(1, rows - FRAME)
}

/** Renders the screen: `rows` lines of at most `columns`. */
export function renderTop(frame: TopFrame, size: ScreenSize): string[] {
  const { state, found, now } = frame
  const columns = Math.max(LEAST_COLUMNS, size.columns)
  const seen = rowsSeen(size)
  const shown = found.rows.slice(state.offset, state.offset + seen)
  const layout = layOut(columns, { isWithParts: shown.some(hasParts), isFamilies: found.isFamilies })
  const lines = [
    titleLine(frame, columns),
    choiceLine(state, columns),
    headerLine(layout, frame, columns),
    ...shown.map((view) => bucketLine(view, layout, now)),
  ]
  if (shown.length === 0) lines.push(paint('gray', fitText(emptyText(state, found), columns)))
  while (lines.length < seen + FRAME - 1) lines.push('')
  lines.push(footerLine(frame, shown.length, columns))
  return lines.slice(0, Math.max(1, size.rows))
}

function headerLine(
  { gap, key, bar, details }: Layout,
  { state, found: { isFamilies } }: TopFrame,
  columns: number,
): string {
  const arrow = isDescending(state) ? '▼' : '▲'
  const titled = (title: string) => (title === state.sort ? `${title}${arrow}` : title)
  const cells = details.map(({ title, width, align }) => padText(titled(title), width, align))
  const name = isFamilies ? titled('key').replace('key', 'family') : titled('key')
  const header = [padText(name, key), padText(titled('fill'), bar + 5), ...cells].join(' '.repeat(gap))
  return paint('inverse', padText(header, columns))
}

function bucketLine(view: TopRow, { gap, key, bar, details }: Layout, now: number): string {
  const cells = bucketCells(view, now)
  const colour = STATE_COLOURS[view.state]
  const [taken, free] = fillBar(view.fill, bar)
  const fill = `${paint(colour, taken)}${paint('gray', free)}${padText(cells.percent, 5, 'right')}`
  const others = details.map(({ title, width, align }) => {
    const cell = title === 'parts' ? cutText(partsText(view, now), width) : cells[title]
    const text = padText(cell, width, align)
    return title === 'state' ? paint(colour, text) : text
  })
  return [padText(cells.key, key), fill, ...others].join(' '.repeat(gap))
}

/** The title; its sums cover the buckets that were read, not all. */
function titleLine({ found, place }: TopFrame, columns: number): string {
  const { rows, total, isFamilies } = found
  const sumOf = (field: 'waiting' | 'running') => rows.reduce((sum, view) => sum + view[field], 0)
  const states = (['full', 'frozen', 'paused'] as const).flatMap((state) => {
    const count = rows.filter((view) => view.state === state).length
    return count === 0 ? [] : [paint(STATE_COLOURS[state], `${formatCount(count)} ${state}`)]
  })
  const first = total > rows.length ? `, of the first ${formatCount(rows.length)}:` : ':'
  const [one, many] = isFamilies ? ['family', 'families'] : ['bucket', 'buckets']
  const head = paint('bold', `${totalText(found)} ${total === 1 ? one : many}`)
  // What is below a total that is below another one would count twice.
  const sums = isFamilies
    ? []
    : [`${formatCount(sumOf('waiting'))} wait`, `${formatCount(sumOf('running'))} run`]
  const facts = [...sums, ...states]
  const shown = facts.length === 0 || total === 0 ? head : `${head}${first} ${facts.join(', ')}`
  const width = textWidth(plainText(shown))
  if (width > columns) return cutText(plainText(shown), columns)
  const room = columns - width - GAP
  return room < textWidth(place) ? shown : `${shown}${paint('gray', padText(place, room + GAP, 'right'))}`
}

/** The filters and the order; during typing, the prefix so far. */
function choiceLine(state: TopState, columns: number): string {
  const { prefix, before, minFill, sort, isFamilies } = state
  if (before !== undefined) return `/${fitText(showText(prefix), columns - 2)}▏`
  const keys = prefix === '' ? '' : isFamilies ? `in ${showText(prefix)}` : `${showText(prefix)}*`
  const fill = minFill > 0 ? `fill ≥ ${Number((minFill * 100).toFixed(1))}%` : ''
  const order = `by ${sort}${isDescending(state) ? ', largest first' : ''}`
  return paint('gray', cutText([keys, fill, order].filter((part) => part !== '').join('  '), columns))
}

function footerLine({ state, found, errorText }: TopFrame, shown: number, columns: number): string {
  if (errorText !== undefined) return paint('red', cutText(showText(errorText), columns))
  const hints = state.before === undefined ? hintsOf(found) : 'Enter keep  Esc back'
  const from = state.offset + 1
  const place = shown < found.total ? `${from}-${state.offset + shown} of ${totalText(found)}` : ''
  const room = columns - textWidth(place) - (place === '' ? 0 : GAP)
  return paint('gray', `${padText(cutHints(hints, room), room)}${place === '' ? '' : '  '}${place}`.trimEnd())
}

function hintsOf({ isFamilies }: TopRows): string {
  return isFamilies
    ? 'q quit  t buckets  / key  s sort  r reverse  ↑↓ scroll  Esc all'
    : 'q quit  / prefix  f fill  s sort  r reverse  t families  ↑↓ scroll  Esc all'
}

/** The hints that fit as a whole. */
function cutHints(text: string, width: number): string {
  const hints = text.split('  ')
  while (hints.length > 1 && textWidth(hints.join('  ')) > width) hints.pop()
  return hints.join('  ')
}

/** Formats a total: `1,000+` for a lower bound. */
function totalText({ total, isAtLeast }: TopRows): string {
  return `${formatCount(total)}${isAtLeast ? '+' : ''}`
}

function emptyText({ prefix, minFill }: TopState, { isFamilies }: TopRows): string {
  const isAll = prefix === '' && minFill === 0
  if (isFamilies)
    return isAll ? 'no live families: no rule limits a sum, or nothing lives' : 'no family matches'
  return isAll ? 'no live buckets' : 'no bucket matches'
}

/** A column besides key and bar. */
interface Detail {
  readonly title: Exclude<keyof BucketCells, 'key' | 'percent'> | 'parts'
  readonly width: number
  readonly align: 'left' | 'right'
}

/** The widths of the columns and the gap between them; the percentage takes five columns after the bar. */
export interface Layout {
  readonly gap: number
  readonly key: number
  readonly bar: number
  readonly details: readonly Detail[]
}

const PERCENT = 5
const MOST_KEY = 64
const MOST_BAR = 32
const NARROW = 60
/** Room for one quota, or for the places and the beginning of a quota. */
const PARTS = 34

/**
 * Chooses the details that fit; the rest of the width is for the key and the bar.
 *
 * @param isWithParts whether a row on the screen has quotas or places
 */
export function layOut(
  columns: number,
  {
    isWithParts = false,
    isFamilies = false,
  }: { isWithParts?: boolean; isFamilies?: boolean | undefined } = {},
): Layout {
  const isNarrow = columns < NARROW
  const [gap, leastKey, leastBar] = isNarrow ? [1, 10, 4] : [2, 24, 8]
  // By importance, the most important first.
  const ranked: readonly Detail[] = [
    { title: 'waiting', width: 9, align: 'right' },
    { title: 'state', width: 7, align: 'left' },
    isFamilies
      ? { title: 'children', width: 8, align: 'right' }
      : { title: 'oldest', width: 7, align: 'right' },
    { title: 'next', width: 5, align: 'right' },
    ...(isWithParts ? [{ title: 'parts', width: PARTS, align: 'left' } as const] : []),
    { title: 'rate', width: 10, align: 'right' },
    { title: 'running', width: 8, align: 'right' },
  ]
  let room = columns - leastKey - gap - leastBar - PERCENT
  const details: Detail[] = []
  for (const detail of ranked) {
    if (detail.width + gap > room) break
    room -= detail.width + gap
    details.push(detail)
  }
  const key = Math.min(MOST_KEY, leastKey + Math.ceil(room / 2))
  const bar = Math.min(MOST_BAR, leastBar + room - (key - leastKey))
  return { gap, key, bar, details }
}
