import type { ProductName } from '../products/index.ts'
import type { Pace } from '../products/product.ts'
import type { Table } from '../report/table.ts'

/** One measurement, made in a process of its own; plain data, because it travels there. */
export interface Trial<Name extends string = string> {
  readonly scenario: string
  readonly product: Name
  readonly pace: Pace
  /** Keys that take part, or buckets that live. */
  readonly keys: number
  readonly jobs: number
  /** Processes that spin beside it. */
  readonly neighbours?: number
}

/** What came of it: figures by name, and for pictures the moments of the starts in milliseconds. */
export interface Sample {
  readonly figures: Readonly<Record<string, number>>
  readonly starts?: readonly number[]
}

/** All rounds of one trial. A trial that failed once is not tried again. */
export interface Result {
  readonly trial: Trial
  readonly name: string
  readonly setting: string
  readonly samples: readonly Sample[]
  /** Why there is no figure; empty when there is. */
  readonly failure: string
}

/** `Name`: the products that it can load. */
export interface Scenario<Name extends string = ProductName> {
  readonly name: string
  /** How long one measurement may take. */
  readonly timeLimitMs: number
  /** For figures that hardly vary: more rounds than this are not made. */
  readonly mostRounds?: number
  trials(isQuick: boolean): Omit<Trial<Name>, 'scenario'>[]
  /** @param address of the server that was started for this one measurement, of Redis its socket; empty: there is none */
  measure(trial: Trial<Name>, address: string): Promise<Sample>
  tables(results: readonly Result[]): Table[]
}
