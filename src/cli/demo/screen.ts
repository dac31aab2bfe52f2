import { MILLISECOND } from '../../core/duration.ts'
import { formatRate } from '../../core/rate.ts'
import { countColumns, type Slices, spreadColumns } from '../../demo/columns.ts'
import type { AccountLog, RunLog } from '../../demo/run-log.ts'
import { spark } from '../spark.ts'
import { paint } from '../terminal.ts'

export interface ScreenSize {
  readonly columns: number
  readonly rows: number
}

/** A run and how it is drawn. */
interface Strip {
  readonly run: RunLog | undefined
  /** The number of slices of time to show, counted from the end. */
  readonly slices: number
  /** Characters per slice. */
  readonly stretch: number
  /** Lines of text per bar. */
  readonly height: number
  readonly now: number
}

const SLICE = 200 * MILLISECOND
const LABEL = 13
const WITHOUT = 14
const BEHIND = 29
const NUMBERS = 16
const WIDTH = LABEL + WITHOUT + 3 + BEHIND + 2 + NUMBERS

export function fitsScreen({ columns, rows }: ScreenSize): boolean {
  return columns >= WIDTH && rows >= 24
}

/** Renders the demo at one moment: one account below the other, both runs side by side on one scale. */
export function renderScreen(runs: readonly RunLog[], now: number, size: ScreenSize): string[] {
  const [without, behind] = runs
  // Where there is room, a slice is two characters wide and the bars are higher.
  const stretch = size.columns >= WIDTH + WITHOUT + BEHIND ? 2 : 1
  const height = size.rows >= 34 ? 3 : 2
  const left: Strip = { run: without, slices: WITHOUT, stretch, height, now }
  const right: Strip = { run: behind, slices: BEHIND, stretch, height, now }
  const titles = lay(
    '',
    fill('without', left),
    paint('magenta', fill(behind ? 'with velvet-rope' : '', right)),
    '',
  )
  const title = 'The same bursts, twice, to an API that answers 429 when calls come too close'
  const accounts = (without?.accounts ?? []).map((_, index) => ['', ...renderAccount(index, left, right)])
  return [paint('bold', title), titles, ...accounts.flat()]
}

function renderAccount(index: number, left: Strip, right: Strip): string[] {
  const before = left.run!.accounts[index]!
  const after = right.run?.accounts[index]
  const { key, limit } = before.account
  const { height } = left
  const scale = scaleOf(before, left)
  const strips = [left, right].map((strip) => {
    const log = strip.run?.accounts[index]
    return [...drawArrivals(strip, log, scale), ...drawCalls(strip, log, scale), drawLine(strip, log)]
  })
  const labels = new Map([
    [0, paint('bold', `${key}, ${formatRate(limit.rate)}`.padEnd(LABEL))],
    [1, '  arrivals'],
    [height + 1, '  calls'],
    [2 * height, '  the line'],
  ])
  const numbers = new Map([
    [0, `${(after ?? before).arrivals.length} jobs`],
    [height, paint('red', `without ${before.refused} × 429`)],
  ])
  if (after !== undefined) {
    numbers
      .set(1, `${after.rejections.length} rejected`)
      .set(height + 1, paint(after.refused > 0 ? 'red' : 'green', `with ${after.refused} × 429`))
      .set(2 * height, `${after.waiting}/${limit.capacity} waiting`)
  }
  return strips[0]!.map((from, row) =>
    lay(labels.get(row) ?? '', from, strips[1]![row]!, numbers.get(row) ?? ''),
  )
}

function drawArrivals(strip: Strip, log: AccountLog | undefined, scale: number): string[] {
  const columns = log === undefined ? [] : countColumns(log.arrivals, slicesOf(strip))
  return drawBars(columns, scale, strip, () => 'cyan')
}

/** Draws each call over the interval that the API requires, so that even calls make a flat line. */
function drawCalls(strip: Strip, log: AccountLog | undefined, scale: number): string[] {
  if (log === undefined) return drawBars([], scale, strip, () => 'magenta')
  const spread = (calls: readonly { readonly at: number }[]) =>
    spreadColumns(
      calls.map(({ at }) => at),
      log.account.limit.interval,
      slicesOf(strip),
    )
  const refused = spread(log.calls.filter(({ isRefused }) => isRefused))
  return drawBars(spread(log.calls), scale, strip, (index) => (refused[index]! > 0 ? 'red' : 'magenta'))
}

type Colour = 'cyan' | 'magenta' | 'red'

/** Draws bars several lines high, the top line first. */
function drawBars(
  columns: readonly number[],
  scale: number,
  strip: Strip,
  colourOf: (index: number) => Colour,
): string[] {
  const { slices, stretch, height } = strip
  const rest = ' '.repeat((slices - columns.length) * stretch)
  return Array.from({ length: height }, (_, row) => {
    const floor = height - 1 - row
    const parts = columns.map((value) => Math.max(0, Math.min(1, (value / scale) * height - floor)))
    const blocks = [...spark(parts, { width: parts.length, max: 1 })]
    return blocks.map((block, index) => paint(colourOf(index), block.repeat(stretch))).join('') + rest
  })
}

/** Draws the line: a dot for each waiting job, then the free places. */
function drawLine(strip: Strip, log: AccountLog | undefined): string {
  const width = strip.slices * strip.stretch
  if (log === undefined || !strip.run!.isShaped) return ' '.repeat(width)
  const { capacity } = log.account.limit
  const places = Math.min(capacity, width - 1)
  const taken = Math.min(places, Math.ceil((log.waiting / capacity) * places))
  const line = paint('magenta', '●'.repeat(taken)) + paint('gray', '·'.repeat(places - taken))
  return `${line}${paint('gray', '┃')}${' '.repeat(width - places - 1)}`
}

/** The last slices up to now, or up to the end of the run. */
function slicesOf({ run, slices, now }: Strip): Slices {
  const passed = Math.max(0, Math.ceil(((run!.endedAt ?? now) - run!.startedAt) / SLICE))
  const count = Math.min(slices, passed)
  return { from: run!.startedAt + (passed - count) * SLICE, width: SLICE, count }
}

/**
 * The value of a full bar: at least the most jobs of the account in one slice, and such that an even stream fills whole
 * blocks, so that small jitter does not show.
 */
function scaleOf({ account, arrivals }: AccountLog, { run, height }: Strip): number {
  const from = run!.startedAt
  const count = Math.ceil(((arrivals.at(-1) ?? from) - from) / SLICE) + 1
  const peak = Math.max(1, ...countColumns(arrivals, { from, width: SLICE, count }))
  const even = SLICE / account.limit.interval
  const blocks = 8 * height
  return (even * blocks) / Math.max(1, Math.floor((even / peak) * blocks))
}

function fill(text: string, { slices, stretch }: Strip): string {
  return text.padEnd(slices * stretch)
}

function lay(label: string, from: string, to: string, numbers: string): string {
  return `${label.padEnd(LABEL)}${from} ${paint('gray', '┊')} ${to}  ${numbers}`
}
