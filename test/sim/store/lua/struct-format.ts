import { badArgument } from './args.ts'
import { fail } from './error.ts'

/** One part of a format of the library `struct`. */
export interface Part {
  readonly option: string
  /** Bytes; 0 for texts whose length the value or the data tell. */
  readonly size: number
  readonly isLittle: boolean
  readonly align: number
}

const SIZES: Readonly<Record<string, number>> = {
  b: 1,
  B: 1,
  h: 2,
  H: 2,
  l: 8,
  L: 8,
  T: 8,
  f: 4,
  d: 8,
  x: 1,
}
const MOST_INTEGER_BYTES = 32
const known = new Map<string, readonly Part[]>()

/** Reads a format; each only once. */
export function partsOf(format: string, of: string): readonly Part[] {
  let parts = known.get(format)
  if (parts === undefined) {
    parts = read(format, of)
    known.set(format, parts)
  }
  return parts
}

function read(format: string, of: string): Part[] {
  const parts: Part[] = []
  let isLittle = true
  let align = 1
  for (const [, option = '', digits = ''] of format.matchAll(/([\s\S])((?<=[ciI!])\d*)?/g)) {
    const number = digits === '' ? undefined : Number(digits)
    if (option === '<' || option === '>') isLittle = option === '<'
    else if (option === '!') {
      align = number ?? 8
      if (align === 0 || (align & (align - 1)) !== 0) fail('alignment is not a power of 2')
    } else if (option === 'c') parts.push({ option, size: number ?? 1, isLittle, align })
    else if (option === 'i' || option === 'I') {
      const size = number ?? 4
      if (size > MOST_INTEGER_BYTES) {
        fail(`integral size ${size} is larger than limit of ${MOST_INTEGER_BYTES}`)
      }
      parts.push({ option, size, isLittle, align })
    } else if (option === 's' || SIZES[option] !== undefined) {
      parts.push({ option, size: SIZES[option] ?? 0, isLittle, align })
    } else if (option !== ' ') badArgument(1, of, `invalid format option '${option}'`)
  }
  return parts
}

/** How many bytes lie before a part, so that it is aligned. */
export function gapBefore(at: number, { option, size, align }: Part): number {
  if (size === 0 || option === 'c') return 0
  const unit = Math.min(size, align)
  return (unit - (at & (unit - 1))) & (unit - 1)
}
