import type { Clock } from '../../../dist/src/meter.js'
import type { Pace } from '../product.ts'

/** Where the levels or counts are, and what governs every key. */
export interface MeterSetup {
  /** Of the server; empty for products in memory. */
  readonly address: string
  readonly pace: Pace
  /** For a product that takes one. */
  readonly clock?: Clock
  /** Called for each statement that goes to PostgreSQL. */
  readonly onStatement?: () => void
}

/**
 * Asks for so many units now. 0: they went in. Else the milliseconds after which the product says to come back. A product
 * that answers without a promise is not made to wait for one.
 */
export type Ask = (key: string, amount: number) => number | Promise<number>

export interface MeterProduct {
  readonly name: string
  /** How it was configured, as its users would write it. */
  setting(pace: Pace): string
  open(setup: MeterSetup): Promise<Ask>
}
