import { intervalMs, type Pace } from '../products/product.ts'
import { cell, cellOfTotal, decimals } from '../report/figures.ts'
import type { Table } from '../report/table.ts'
import { breachesOfSpacing } from '../spacing.ts'
import { gapsOf, quantile, utilisation } from '../statistics.ts'
import type { Result, Sample, Trial } from './scenario.ts'

const RATES = [5, 20, 200]
const SECONDS = 8
const NEIGHBOURS = [0, 2]
const three = decimals(3)
const milliseconds = (value: number) => `${decimals(1)(value)} ms`

/** Each product at each rate, alone and beside two neighbours: one after the other, so that the ratios mean something. */
export function lagTrials<Name extends string>(products: readonly Name[]): Omit<Trial<Name>, 'scenario'>[] {
  return RATES.flatMap((rate) =>
    NEIGHBOURS.flatMap((neighbours) =>
      products.map((product) => {
        const pace = { count: 1, periodMs: 1_000 / rate }
        return { product, pace, keys: 1, jobs: rate * SECONDS, neighbours }
      }),
    ),
  )
}

/** How much of the rate the starts of one key kept, and how far from the interval they were. */
export function lagOf(starts: readonly number[], pace: Pace): Sample {
  const interval = intervalMs(pace)
  const gaps = gapsOf(starts)
  return {
    figures: {
      utilisation: utilisation(starts, interval),
      longestGap: Math.max(...gaps) - interval,
      lateness: quantile(
        gaps.map((gap) => gap - interval),
        0.99,
      ),
      breaches: breachesOfSpacing(starts, pace),
    },
  }
}

/** In brackets: the multiple of what the last product of the same rate and neighbours reached. */
export function tableOfLag(title: string, results: readonly Result[]): Table {
  return {
    title,
    columns: ['product', 'rate', 'neighbours', 'utilisation', 'p99 late', 'longest late', 'breaches of L2'],
    rows: results.map((result) => {
      const { pace, neighbours, jobs } = result.trial
      const ceiling = results.findLast(
        ({ trial }) => trial.pace.periodMs === pace.periodMs && trial.neighbours === neighbours,
      )
      return [
        result.name,
        `${1_000 / pace.periodMs}/s`,
        `${neighbours ?? 0}`,
        cell(result, 'utilisation', three, ceiling === result ? undefined : ceiling),
        cell(result, 'lateness', milliseconds),
        cell(result, 'longestGap', milliseconds),
        cellOfTotal(result, 'breaches', jobs),
      ]
    }),
    notes: [],
  }
}
