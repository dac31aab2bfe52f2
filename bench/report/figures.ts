import { ROPE } from '../products/index.ts'
import type { Result } from '../scenarios/scenario.ts'
import { median, sum } from '../statistics.ts'

/** The median of a figure over all rounds; undefined for a trial that failed or has no such figure. */
export function medianOf(result: Result | undefined, figure: string): number | undefined {
  if (result === undefined || result.samples.length === 0) return undefined
  const value = median(values(result, figure))
  return Number.isNaN(value) ? undefined : value
}

/** The sum of a figure over all rounds. */
export function totalOf(result: Result | undefined, figure: string): number | undefined {
  return result === undefined || result.samples.length === 0 ? undefined : sum(values(result, figure))
}

/** Writes how many of the starts of all rounds were what the figure counts. */
export function cellOfTotal(result: Result, figure: string, jobs: number): string {
  const total = totalOf(result, figure)
  return total === undefined ? failureOf(result) : `${total} of ${result.samples.length * jobs}`
}

/** Writes the median; with a reference, also as a multiple of the reference's. */
export function cell(
  result: Result | undefined,
  figure: string,
  write: (value: number) => string,
  reference?: Result,
): string {
  const value = medianOf(result, figure)
  if (value === undefined) return failureOf(result)
  const base = medianOf(reference, figure)
  return base === undefined || base === 0 ? write(value) : `${write(value)} (${ratio(value / base)})`
}

/** The result of velvet-rope, with so many keys if that matters. */
export function ropeOf(results: readonly Result[], keys?: number): Result | undefined {
  return results.find(({ trial }) => trial.product === ROPE && (keys === undefined || trial.keys === keys))
}

/** Says whether a figure keeps a floor or a ceiling. */
export function verdict(
  name: string,
  value: number | undefined,
  bound: { readonly least: number } | { readonly most: number },
  write: (value: number) => string,
): string {
  const target = 'least' in bound ? `at least ${write(bound.least)}` : `at most ${write(bound.most)}`
  if (value === undefined) return `Target: ${name} ${target}: not measured.`
  const isMet = 'least' in bound ? value >= bound.least : value <= bound.most
  return `Target: ${name} ${target}: ${write(value)}, ${isMet ? 'met' : 'MISSED'}.`
}

/** A number with so many digits after the point and commas between thousands. */
export function decimals(digits: number): (value: number) => string {
  const format = new Intl.NumberFormat('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return (value) => format.format(value)
}

function failureOf(result: Result | undefined): string {
  return result?.failure || '-'
}

function ratio(value: number): string {
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)}x`
}

function values(result: Result, figure: string): number[] {
  return result.samples.map(({ figures }) => figures[figure] ?? Number.NaN)
}
