import { z } from 'zod'
import type { Filled, Reading } from './meter-store.ts'

/** Parses the rows of replies: one row, or none. */

const hexadecimal = (count: number) => z.string().regex(new RegExp(`^[0-9a-f]{${count * 16}}$`))

type State = [level: number, at: number, blockedUntil: number, interval: number]

export const lookRow = z.tuple([
  z.object({
    has_table: z.boolean(),
    has_columns: z.boolean(),
    has_key: z.boolean(),
    has_index: z.boolean(),
  }),
])

export const filledRow = z.tuple([z.object({ filled: hexadecimal(6) })]).transform(([{ filled }]): Filled => {
  const [accepted, level, at, blockedUntil, interval, now] = unpack(filled) as [number, ...State, number]
  return { accepted: accepted === 1, state: { level, at, blockedUntil, interval }, now }
})

export const readingRow = z
  .tuple([z.object({ now: hexadecimal(1), state: hexadecimal(4).nullable() })])
  .transform(([row]): Reading => {
    const [now] = unpack(row.now) as [number]
    if (row.state === null) return { state: undefined, now }
    const [level, at, blockedUntil, interval] = unpack(row.state) as State
    return { state: { level, at, blockedUntil, interval }, now }
  })

export const goneRow = z
  .tuple([z.object({ gone: z.string().regex(/^\d+$/) })])
  .transform(([{ gone }]) => Number(gone))

export const noRow = z.tuple([])

/** Decodes what `packed` in the statements encoded. */
function unpack(hex: string): number[] {
  const bytes = Buffer.from(hex, 'hex')
  return Array.from({ length: bytes.length / 8 }, (_, index) => bytes.readDoubleBE(index * 8))
}
