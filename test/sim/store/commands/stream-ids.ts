import { refuse } from '../reply.ts'
import type { StreamId } from '../values/stream.ts'

const INVALID = 'ERR Invalid stream ID specified as stream command argument'
const MOST = 2n ** 64n - 1n
export const LEAST_ID: StreamId = { ms: 0n, seq: 0n }
export const GREATEST_ID: StreamId = { ms: MOST, seq: MOST }

/** As C's `strtoull` reads it, which takes spaces, a sign and zeros in front. */
function part(text: string): bigint {
  const [, sign, digits] = /^[ \t\n\v\f\r]*([+-]?)(\d+)$/.exec(text) ?? []
  if (digits === undefined || /^-[1-9]/.test(text)) return refuse(INVALID)
  const value = BigInt(digits)
  if (value > MOST) return refuse(INVALID)
  return sign === '-' ? BigInt.asUintN(64, -value) : value
}

/** @param missing the second part where only the first is given. @throws CommandError */
export function parseId(text: string, missing: bigint): StreamId {
  const dash = text.indexOf('-')
  if (dash === -1) return { ms: part(text), seq: missing }
  return { ms: part(text.slice(0, dash)), seq: part(text.slice(dash + 1)) }
}

/** One end of a range: `-`, `+`, an id, or `(` and an id, which does not belong to the range. @throws CommandError */
export function parseEnd(text: string, isLast: boolean): StreamId {
  if (text === '-') return LEAST_ID
  if (text === '+') return GREATEST_ID
  const isOpen = text.startsWith('(')
  const id = parseId(isOpen ? text.slice(1) : text, isLast ? MOST : 0n)
  if (!isOpen) return id
  return isLast
    ? (before(id) ?? refuse('ERR invalid end ID for the interval'))
    : (after(id) ?? refuse('ERR invalid start ID for the interval'))
}

export function after({ ms, seq }: StreamId): StreamId | undefined {
  if (seq < MOST) return { ms, seq: seq + 1n }
  return ms < MOST ? { ms: ms + 1n, seq: 0n } : undefined
}

function before({ ms, seq }: StreamId): StreamId | undefined {
  if (seq > 0n) return { ms, seq: seq - 1n }
  return ms > 0n ? { ms: ms - 1n, seq: MOST } : undefined
}

export function idText({ ms, seq }: StreamId): string {
  return `${ms}-${seq}`
}
