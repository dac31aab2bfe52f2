import { z } from 'zod'
import { PERIODS } from '../core/calendar.ts'
import { ForeignValueError } from '../core/errors.ts'
import type { CountedQuotas } from '../core/meter-quotas.ts'
import { boundsAt, isRolling, type Quota, type QuotaUse, type QuotaWindow } from '../core/quota.ts'
import type { QuotaFillRequest } from './meter-store.ts'

/**
 * What the quotas of a meter count, as stores outside of this process keep it: with the windows that it was counted for, as text. A
 * statement or script counts only for the same windows; for others its caller carries over what was counted.
 */

const windowsSchema = z.array(
  z.strictObject({
    unit: z.string().optional(),
    window: z.union([
      z.strictObject({ length: z.number().positive() }),
      z.strictObject({ period: z.enum(PERIODS), zone: z.string() }),
    ]),
  }),
)

/** By the quotas of a limit, which many fills share. */
const TEXTS = new WeakMap<readonly Quota[], string>()
/** Those read last; a store may hold what was counted for limits of long ago. */
const PARSED = new Map<string, readonly QuotaWindow[]>()
const MOST_PARSED = 1_000

/** The windows of quotas as text: what is counted for the same windows has the same text. */
export function windowsText(quotas: readonly Quota[]): string {
  const known = TEXTS.get(quotas)
  if (known !== undefined) return known
  const text = JSON.stringify(quotas.map(({ unit, window }) => ({ unit, window })))
  TEXTS.set(quotas, text)
  return text
}

/** @throws ForeignValueError */
export function parseWindows(text: string): readonly QuotaWindow[] {
  const known = PARSED.get(text)
  if (known !== undefined) return known
  const windows = read(text).map(({ unit, window }) => ({ unit, window }))
  if (PARSED.size === MOST_PARSED) PARSED.clear()
  PARSED.set(text, windows)
  return windows
}

function read(text: string): z.output<typeof windowsSchema> {
  try {
    return windowsSchema.parse(JSON.parse(text))
  } catch {
    throw foreignCounts()
  }
}

export function foreignCounts(): ForeignValueError {
  return new ForeignValueError('the store of the meter holds what no version of this package counts')
}

/**
 * What a fill brings of each quota: its amount, what it counts, the length of a rolling window or else 0, and of a calendar the
 * bounds of its periods around `now`, else four 0.
 */
export function quotaNumbers({ quotas, charges }: QuotaFillRequest, now: number): number[] {
  return quotas.flatMap((quota, index) => [
    quota.amount,
    charges[index]!,
    ...(isRolling(quota.window) ? [quota.window.length, 0, 0, 0, 0] : [0, ...boundsAt(quota.window, now)]),
  ])
}

const HEAD = 0x5612
const DOUBLE_BYTES = 8

/** As `counts.pack` of lib/counts.lua; empty where nothing counts. */
export function packCounts(quotas: readonly Quota[], uses: readonly QuotaUse[]): Buffer {
  if (uses.every(({ ends }) => ends.length === 0)) return Buffer.alloc(0)
  const windows = Buffer.from(windowsText(quotas))
  return Buffer.concat([
    sixteenBits(HEAD),
    sixteenBits(windows.length),
    windows,
    ...uses.flatMap(({ ends, used }) => [sixteenBits(ends.length), doubles(ends), doubles(used)]),
  ])
}

/** @throws ForeignValueError */
export function unpackCounts(packed: Buffer): CountedQuotas | undefined {
  if (packed.length === 0) return undefined
  try {
    const from = 4 + packed.readUInt16LE(2)
    const quotas = parseWindows(packed.toString('utf8', 4, from))
    let at = from
    const uses = quotas.map((): QuotaUse => {
      const size = packed.readUInt16LE(at)
      const ends = readDoubles(packed, at + 2, size)
      const used = readDoubles(packed, at + 2 + size * DOUBLE_BYTES, size)
      at += 2 + 2 * size * DOUBLE_BYTES
      return { ends, used }
    })
    if (at === packed.length && packed.readUInt16LE(0) === HEAD) return { quotas, uses }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  throw foreignCounts()
}

function sixteenBits(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function doubles(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * DOUBLE_BYTES)
  for (const [index, value] of values.entries()) bytes.writeDoubleLE(value, index * DOUBLE_BYTES)
  return bytes
}

function readDoubles(packed: Buffer, from: number, size: number): number[] {
  return Array.from({ length: size }, (_, index) => packed.readDoubleLE(from + index * DOUBLE_BYTES))
}
