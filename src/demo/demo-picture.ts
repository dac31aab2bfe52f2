import { SECOND } from '../core/duration.ts'
import { formatRate } from '../core/rate.ts'
import { timeAxis } from '../simulate/axis.ts'
import { renderDocument, short, svgText, textWidth } from '../simulate/svg.ts'
import type { DemoResult } from './demo.ts'
import { drawArrivals, drawCalls, drawWaiting, type Frame, peakOf, RED } from './picture-strips.ts'
import type { AccountLog, RunLog } from './run-log.ts'

const WIDTH = 960
const MARGIN = 28
const LEFT = 92
const BETWEEN = 40
const TOP = 140
const FOOT = 56
/** The strips of an account: their height, and where they end below its top. */
const JOBS = { label: 'jobs', height: 56, bottom: 92 }
const LINE = { label: 'the line', height: 34, bottom: 142 }
const CALLS = { label: 'calls', height: 22, bottom: 180 }
const ACCOUNT = 208
/** Time shown after the last call. */
const REST = 0.1 * SECOND

const TITLE = 'The same bursts, without and with velvet-rope'
const NOTE = 'An API that answers 429 when two calls of an account come closer than its interval less 10 %.'

/** Both runs side by side on one time scale: arriving jobs, the line, and the calls that the API received. */
export function renderDemo({ without, behind }: DemoResult): string {
  const frames = framesOf(without, behind)
  const bottom = TOP + behind.accounts.length * ACCOUNT
  return renderDocument({
    width: WIDTH,
    height: bottom + FOOT,
    title: TITLE,
    description: `Without velvet-rope ${without.refused} calls were answered 429, with it ${behind.refused}.`,
    body: [
      svgText(MARGIN, 40, TITLE, { style: 'title' }),
      svgText(MARGIN, 62, NOTE, { style: 'note' }),
      ...renderLegend(88),
      ...frames.map(({ run, x }) => svgText(x, TOP - 12, nameOf(run), { style: 'title' })),
      ...behind.accounts.flatMap((_, index) => renderAccount(frames, index, TOP + index * ACCOUNT)),
      ...frames.flatMap((frame) => renderTimes(frame, bottom + 12)),
    ],
  })
}

/** Both use the same width per second. */
function framesOf(...runs: readonly RunLog[]): Frame[] {
  const lengths = runs.map(({ startedAt, endedAt }) => endedAt! - startedAt + REST)
  const room = WIDTH - LEFT - MARGIN - BETWEEN * (runs.length - 1)
  const scale = room / lengths.reduce((sum, length) => sum + length, 0)
  let x = LEFT
  return runs.map((run, index) => {
    const frame = { run, x, scale, width: lengths[index]! * scale }
    x += frame.width + BETWEEN
    return frame
  })
}

function nameOf({ isShaped }: RunLog): string {
  return isShaped ? 'With velvet-rope' : 'Without velvet-rope'
}

function renderLegend(y: number): string[] {
  let x = MARGIN
  return LEGEND.flatMap(([label, colour]) => {
    const swatch = `<rect ${colour} x="${short(x)}" y="${y - 9}" width="10" height="10" rx="2"/>`
    const text = svgText(x + 15, y, label)
    x += textWidth(label, 11) + 40
    return [swatch, text]
  })
}

const LEGEND = [
  ['job that came', 'class="f-slate"'],
  ['job rejected, with a time to retry', 'class="f-amber"'],
  ['jobs waiting, up to the capacity', 'class="f-velvet"'],
  ['call taken by the API', 'class="f-green"'],
  ['call answered 429', `fill="${RED}"`],
] as const

function renderAccount(frames: readonly Frame[], index: number, top: number): string[] {
  const both = frames.map((frame) => ({ frame, log: frame.run.accounts[index]! }))
  const { key, limit } = both[0]!.log.account
  const unit = JOBS.height / Math.max(...both.map(({ frame, log }) => peakOf(frame, log)))
  const labels = [JOBS, LINE, CALLS].map(({ label, bottom, height }) =>
    svgText(LEFT - 12, top + bottom - height / 2 + 4, label, { anchor: 'end' }),
  )
  const strips = both.flatMap(({ frame, log }) => [
    svgText(frame.x + frame.width, top + 22, resultOf(frame.run, log), { anchor: 'end', style: 'value' }),
    ...drawArrivals(frame, log, top + JOBS.bottom, unit),
    ...(frame.run.isShaped ? drawWaiting(frame, log, top + LINE.bottom, LINE.height) : []),
    ...drawCalls(frame, log, top + CALLS.bottom, CALLS.height),
  ])
  return [
    svgText(MARGIN, top + 22, `${key}, ${formatRate(limit.rate)}`, { style: 'heading' }),
    ...labels,
    ...strips,
  ]
}

function resultOf({ isShaped }: RunLog, { account, refused, calls, rejections }: AccountLog): string {
  const answered = `429: ${refused} of ${calls.length} calls`
  if (!isShaped) return answered
  return `${account.limit.capacity} may wait, ${rejections.length} rejected, ${answered}`
}

function renderTimes({ run, x, width, scale }: Frame, y: number): string[] {
  const { ticks, label } = timeAxis(0, (run.endedAt! - run.startedAt) / SECOND, width / 80)
  return [
    ...ticks.map(({ value, label }) => svgText(x + value * SECOND * scale, y, label, { anchor: 'middle' })),
    svgText(x + width / 2, y + 20, label, { anchor: 'middle', style: 'note' }),
  ]
}
