import type { Cells, Fields } from './cells.ts'

/** Longer ago than anything remembers, and later than anything happens. */
export interface Ends {
  readonly never: number
  readonly far: number
}

export function shiftTimes(
  record: Fields<string>,
  names: readonly string[],
  by: number,
  { never, far }: Ends,
): void {
  for (const name of names) {
    const time = record[name]!
    if (time !== never && time !== far) record[name] = Math.max(never + 1, time - by)
  }
}

export function shiftCells(cells: Cells, times: readonly number[], by: number, { never, far }: Ends): void {
  for (let index = 0; index < times.length; index++) {
    const cell = times[index]!
    const time = cells[cell]!
    if (time !== never && time !== far) cells[cell] = Math.max(never + 1, time - by)
  }
}

/** Times that are so long ago become one. */
export function clampCells(cells: Cells, times: readonly number[], oldest: number, { never }: Ends): void {
  for (let index = 0; index < times.length; index++) {
    const cell = times[index]!
    if (cells[cell]! <= oldest) cells[cell] = never
  }
}
