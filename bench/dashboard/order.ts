/** Messages to the processes around a page. */
export interface HouseOrder {
  /** Of Redis; empty: the lines are in the memory of the process that serves. */
  readonly socket: string
  readonly keys: number
}

/** Each bucket departs once in so long. */
export const INTERVAL_MS = 20_000
export const LIMIT = `20, 1 per ${INTERVAL_MS}ms`
export const NAME = 'bench'
