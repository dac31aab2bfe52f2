import type { Pace } from '../products/product.ts'
import { intervalMs } from '../products/product.ts'
import { cell, cellOfTotal, decimals, medianOf, ropeOf, totalOf, verdict } from '../report/figures.ts'
import type { Table } from '../report/table.ts'
import { breachesOfSpacing } from '../spacing.ts'
import { gapsOf, mostWithin, quantile, sum, utilisation } from '../statistics.ts'
import type { Result, Sample } from './scenario.ts'

const two = decimals(2)
const three = decimals(3)
const whole = decimals(0)
const milliseconds = (value: number) => `${two(value)} ms`

/** What velvet-rope must keep with one key. */
export interface OneKeyTargets {
  readonly smallestGap: number
  readonly firstPercentile: number
  readonly utilisation: number
  readonly mostInOneSecond: number
}

/** What velvet-rope must keep with many keys; the error is in milliseconds. */
export interface ManyKeysTargets {
  readonly smallestGap: number
  readonly gapError: number
  readonly utilisation: number
}

/** How even the starts of one key were. */
export function smoothnessOfLine(starts: readonly number[], pace: Pace): Sample {
  const interval = intervalMs(pace)
  const gaps = gapsOf(starts).map((gap) => gap / interval)
  return {
    figures: {
      smallestGap: Math.min(...gaps),
      firstPercentile: quantile(gaps, 0.01),
      utilisation: utilisation(starts, interval),
      mostInOneSecond: mostWithin(starts, 1_000),
      breaches: breachesOfSpacing(starts, pace),
    },
    starts: starts.map((start) => Math.round((start - starts[0]!) * 1_000) / 1_000),
  }
}

/** How even the starts of many keys were, each for itself. */
export function smoothnessOfLines(lines: readonly (readonly number[])[], pace: Pace): Sample {
  const interval = intervalMs(pace)
  const gaps = lines.flatMap(gapsOf)
  return {
    figures: {
      smallestGap: Math.min(...gaps) / interval,
      gapError: quantile(
        gaps.map((gap) => Math.abs(gap - interval)),
        0.99,
      ),
      utilisation: sum(lines.map((starts) => utilisation(starts, interval))) / lines.length,
      breaches: sum(lines.map((starts) => breachesOfSpacing(starts, pace))),
    },
  }
}

export function tableOfLine(title: string, results: readonly Result[], targets: OneKeyTargets): Table {
  const rope = ropeOf(results)
  return {
    title,
    columns: [
      'product',
      'configured as',
      'smallest gap / T',
      '1st percentile / T',
      'utilisation',
      'most starts in 1 s',
      'breaches of L2',
    ],
    rows: results.map((result) => [
      result.name,
      result.setting,
      cell(result, 'smallestGap', three, rope),
      cell(result, 'firstPercentile', three, rope),
      cell(result, 'utilisation', three, rope),
      cell(result, 'mostInOneSecond', whole, rope),
      cellOfTotal(result, 'breaches', result.trial.jobs),
    ]),
    notes: [
      verdict('smallest gap / T', medianOf(rope, 'smallestGap'), { least: targets.smallestGap }, three),
      verdict(
        '1st percentile / T',
        medianOf(rope, 'firstPercentile'),
        { least: targets.firstPercentile },
        three,
      ),
      verdict('utilisation', medianOf(rope, 'utilisation'), { least: targets.utilisation }, three),
      verdict(
        'most starts in 1 s',
        medianOf(rope, 'mostInOneSecond'),
        { most: targets.mostInOneSecond },
        whole,
      ),
      noBreach(rope),
    ],
  }
}

export function tableOfLines(title: string, results: readonly Result[], targets: ManyKeysTargets): Table {
  const rope = ropeOf(results)
  return {
    title,
    columns: [
      'product',
      'configured as',
      'smallest gap / T',
      'p99 gap error',
      'utilisation',
      'breaches of L2',
    ],
    rows: results.map((result) => [
      result.name,
      result.setting,
      cell(result, 'smallestGap', three, rope),
      cell(result, 'gapError', milliseconds, rope),
      cell(result, 'utilisation', three, rope),
      cellOfTotal(result, 'breaches', result.trial.jobs),
    ]),
    notes: [
      verdict('smallest gap / T', medianOf(rope, 'smallestGap'), { least: targets.smallestGap }, three),
      verdict('p99 gap error', medianOf(rope, 'gapError'), { most: targets.gapError }, milliseconds),
      verdict('utilisation', medianOf(rope, 'utilisation'), { least: targets.utilisation }, three),
      noBreach(rope),
    ],
  }
}

function noBreach(rope: Result | undefined): string {
  return verdict('breaches of L2 in all rounds', totalOf(rope, 'breaches'), { most: 0 }, whole)
}
