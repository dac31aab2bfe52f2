import { SECOND } from '../core/duration.ts'
import { short, type Tone } from '../simulate/svg.ts'
import { countColumns, type Slices } from './columns.ts'
import type { AccountLog, RunLog } from './run-log.ts'

/** A run and its position in the picture. */
export interface Frame {
  readonly run: RunLog
  /** Where it begins. */
  readonly x: number
  readonly width: number
  /** Pixels per microsecond. */
  readonly scale: number
}

/** A colour that the shared sheet lacks: readable on light and on dark. */
export const RED = '#e5372b'

const SLICE = 0.1 * SECOND

/** The most jobs of the account in one slice. */
export function peakOf({ run }: Frame, log: AccountLog): number {
  return Math.max(1, ...countColumns(log.arrivals, slicesOf(run)))
}

/** A bar per slice of time, with rejected jobs on top. */
export function drawArrivals(frame: Frame, log: AccountLog, bottom: number, unit: number): string[] {
  const slices = slicesOf(frame.run)
  const accepted = countColumns(log.admissions, slices)
  const came = countColumns(log.arrivals, slices)
  const step = slices.width * frame.scale
  const bars = (tone: Tone, from: readonly number[], to: readonly number[]): string => {
    const paths = to.flatMap((value, index) => {
      const [low, high] = [short(bottom - from[index]! * unit), short(bottom - value * unit)]
      return low === high
        ? []
        : [`M${short(frame.x + index * step)} ${low}V${high}h${short(step - 1)}V${low}Z`]
    })
    return `<path class="f-${tone}" d="${paths.join('')}"/>`
  }
  const nothing = came.map(() => 0)
  return [bars('slate', nothing, accepted), bars('amber', accepted, came), drawBase(frame, bottom)]
}

/** Goes up for each accepted job and down for each departure; the velvet line marks the capacity. */
export function drawWaiting(frame: Frame, log: AccountLog, bottom: number, height: number): string[] {
  const { capacity } = log.account.limit
  const steps = [
    ...log.admissions.map((at) => ({ at, change: 1 })),
    ...log.departures.map(({ at }) => ({ at, change: -1 })),
  ].sort((a, b) => a.at - b.at)
  let waiting = 0
  let path = `M${short(frame.x)} ${short(bottom)}`
  for (const { at, change } of steps) {
    waiting += change
    path += `H${short(xOf(frame, at))}V${short(bottom - (waiting / capacity) * height)}`
  }
  const lineY = short(bottom - height)
  return [
    `<path class="area f-velvet" d="${path}V${short(bottom)}Z"/>`,
    `<path class="line s-velvet" d="${path}"/>`,
    `<path class="mark s-velvet" d="M${short(frame.x)} ${lineY}h${short(frame.width)}"/>`,
    drawBase(frame, bottom),
  ]
}

/** A stroke per call at the API; those answered 429 are red and longer. */
export function drawCalls(frame: Frame, log: AccountLog, bottom: number, height: number): string[] {
  const strokes = (isRefused: boolean, excess: number): string =>
    log.calls
      .filter((call) => call.isRefused === isRefused)
      .map(({ at }) => `M${short(xOf(frame, at))} ${short(bottom + excess)}v${short(-height - 2 * excess)}`)
      .join('')
  return [
    `<rect class="track" x="${short(frame.x)}" y="${short(bottom - height)}" width="${short(frame.width)}" height="${height}"/>`,
    `<path stroke="${RED}" stroke-width="1.6" d="${strokes(true, 3)}"/>`,
    `<path class="s-green" stroke-width="2.4" d="${strokes(false, 0)}"/>`,
  ]
}

function drawBase({ x, width }: Frame, y: number): string {
  return `<path class="base" d="M${short(x)} ${short(y)}h${short(width)}"/>`
}

function xOf({ run, x, scale }: Frame, at: number): number {
  return x + (at - run.startedAt) * scale
}

function slicesOf({ startedAt, endedAt }: RunLog): Slices {
  return { from: startedAt, width: SLICE, count: Math.ceil((endedAt! - startedAt) / SLICE) }
}
