/** The ticks of an axis and their labels. */

export interface Tick {
  readonly value: number
  readonly label: string
}

/** Values from 0 to at least `max`, in steps of 1, 2, 2.5 or 5 times a power of ten. */
export function valueTicks(max: number, wanted = 4): Tick[] {
  const top = max > 0 ? max : 1
  const step = niceStep(top / wanted)
  const count = Math.ceil(top / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => {
    const value = index * step
    return { value, label: formatValue(value) }
  })
}

export interface TimeAxis {
  /** Such as `time (s)`. */
  readonly label: string
  readonly ticks: readonly Tick[]
}

/** Ticks for a duration in seconds, labelled in a suitable unit. */
export function timeAxis(from: number, to: number, wanted = 10): TimeAxis {
  const length = Math.max(to - from, 1e-6)
  const unit = UNITS.find(({ upTo }) => length <= upTo) ?? UNITS.at(-1)!
  const rough = length / unit.size / wanted
  const step = (unit.steps.find((candidate) => candidate >= rough) ?? niceStep(rough)) * unit.size
  const ticks: Tick[] = []
  for (let index = Math.ceil(from / step - 1e-9); index * step <= to + step * 1e-6; index++) {
    ticks.push({ value: index * step, label: formatValue((index * step) / unit.size) })
  }
  return { label: `time (${unit.name})`, ticks }
}

/** Formats a number: at most four significant digits, with thousands separators. */
export function formatValue(value: number): string {
  if (!Number.isFinite(value)) return '∞'
  const rounded = Number(value.toPrecision(4))
  return Math.abs(rounded) >= 10_000 ? rounded.toLocaleString('en') : String(rounded)
}

const UNITS = [
  { name: 'ms', size: 0.001, upTo: 0.999, steps: [1, 2, 5, 10, 20, 50, 100] },
  { name: 's', size: 1, upTo: 600, steps: [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60] },
  { name: 'min', size: 60, upTo: 14_400, steps: [1, 2, 5, 10, 15, 30] },
  { name: 'h', size: 3_600, upTo: 345_600, steps: [0.5, 1, 2, 4, 6, 12] },
  { name: 'days', size: 86_400, upTo: Number.POSITIVE_INFINITY, steps: [1, 2, 7, 14, 28] },
] as const

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= rough * (1 - 1e-9)) ?? 10
  return factor * power
}
