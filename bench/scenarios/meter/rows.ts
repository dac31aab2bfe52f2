import type { Pace } from '../../products/product.ts'
import { cell } from '../../report/figures.ts'
import type { Result } from '../scenario.ts'
import { byProduct } from '../throughput.ts'

/** Everything goes in, and nothing is forgotten meanwhile; and all but the first of each key is refused. */
export const ACCEPTING: Pace = { count: 10_000_000, periodMs: 3_600_000 }
export const REFUSING: Pace = { count: 1, periodMs: 3_600_000 }

/** What a product was found to do while it lets in, and while it refuses. */
export interface BothWays {
  readonly accepting: Result
  readonly refusing: Result
}

/** A figure of these results, one cell for each way; in brackets as a multiple of velvet-rope's. */
export type Cells = (figure: string, write: (value: number) => string) => string[]

/** A row for each product, from results with one number of keys. */
export function rowsOf(results: readonly Result[], rest: (cells: Cells) => string[]): string[][] {
  const products = byProduct(results).map(bothWays)
  const rope = products.find(({ accepting }) => accepting.name === 'velvet-rope')
  return products.map(({ accepting, refusing }) => [
    accepting.name,
    refusing.setting,
    ...rest((figure, write) => [
      cell(accepting, figure, write, rope?.accepting),
      cell(refusing, figure, write, rope?.refusing),
    ]),
  ])
}

function bothWays(results: readonly Result[]): BothWays {
  const of = (pace: Pace) => results.find(({ trial }) => trial.pace.count === pace.count)!
  return { accepting: of(ACCEPTING), refusing: of(REFUSING) }
}
