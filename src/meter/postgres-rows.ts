import { z } from 'zod'
import type { Filled, Reading } from './meter-store.ts'

/** Parses the rows of replies: one row, or none. */

const hexadecimal = (count: number) => z.string().regex(new RegExp(`^[0-9a-f]{${count * 16}}$`))

type State = [level: number, at: number, blockedUntil: number, interval: number]

export const lookRow = z.tuple([
  z.object({
    has_table: z.boolean(),
    has_columns: z.boolean(),
    has_quotas: z.boolean(),
    has_key: z.boolean(),
    has_index: z.boolean(),
  }),
])

const filledFields = { filled: hexadecimal(6) }
const readingFields = { now: hexadecimal(1), state: hexadecimal(4).nullable() }
const keptFields = {
  windows: z.string().nullable(),
  uses: z
    .string()
    .regex(/^(?:[0-9a-f]{48})*$/)
    .nullable(),
}

export const filledRow = z.tuple([z.object(filledFields)]).transform(([row]) => filledOf(row))

export const readingRow = z.tuple([z.object(readingFields)]).transform(([row]) => readingOf(row))

/** With what the row keeps of quotas. */
export const quotaFilledRow = z
  .tuple([z.object({ ...filledFields, ...keptFields })])
  .transform(([row]) => ({ ...filledOf(row), kept: keptOf(row) }))

export const quotaReadingRow = z
  .tuple([z.object({ ...readingFields, ...keptFields })])
  .transform(([row]) => ({ ...readingOf(row), kept: keptOf(row) }))

function filledOf({ filled }: { readonly filled: string }): Filled {
  const [accepted, level, at, blockedUntil, interval, now] = unpack(filled) as [number, ...State, number]
  return { accepted: accepted === 1, state: { level, at, blockedUntil, interval }, now }
}

function readingOf(row: { readonly now: string; readonly state: string | null }): Reading {
  const [now] = unpack(row.now) as [number]
  if (row.state === null) return { state: undefined, now }
  const [level, at, blockedUntil, interval] = unpack(row.state) as State
  return { state: { level, at, blockedUntil, interval }, now }
}

function keptOf({ windows, uses }: { readonly windows: string | null; readonly uses: string | null }) {
  return { windows, uses: uses === null ? [] : unpack(uses) }
}

export const goneRow = z
  .tuple([z.object({ gone: z.string().regex(/^\d+$/) })])
  .transform(([{ gone }]) => Number(gone))

export const noRow = z.tuple([])

/** Decodes what `packed` in the statements encoded. */
function unpack(hex: string): number[] {
  const bytes = Buffer.from(hex, 'hex')
  return Array.from({ length: bytes.length / 8 }, (_, index) => bytes.readDoubleBE(index * 8))
}
