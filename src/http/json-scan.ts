const [QUOTE, PLUS, COMMA, MINUS, POINT, ZERO, NINE] = codesOf('"+,-.09')
const [LIST, BACKSLASH, OBJECT, EXPONENT, LARGE_EXPONENT] = codesOf('[\\{eE')

/** Integers with fewer digits are exact. */
const LONG_INTEGER = /^-?\d{16,}$/

interface JsonScan {
  /** How many fields, elements and values there are, at least; beyond the limit the rest is not read. */
  readonly values: number
  /** The first integer that a double cannot hold, such as 12345678901234567890. */
  readonly lossy?: string
}

/**
 * Looks through a JSON text once, before it is parsed: parsing takes long for many values, and would change an integer
 * that a double cannot hold, which must not happen to the number of an account or a message. An empty list or object may
 * count as two values. Text that is no JSON gives any result.
 *
 * @param most values; beyond it the scan ends
 */
export function scanJson(text: string, most: number): JsonScan {
  let values = 1
  let lossy: string | undefined
  for (let at = 0; at < text.length && values <= most; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === COMMA || code === LIST || code === OBJECT) values++
    else if (isDigit(code) || code === MINUS) {
      const end = endOfNumber(text, at)
      if (lossy === undefined && end - at >= 16) lossy = lossyIn(text.slice(at, end))
      at = end - 1
    }
  }
  return { values, ...(lossy !== undefined && { lossy }) }
}

/** The place of the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}

/** The place behind the number. */
function endOfNumber(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && isOfNumber(text.charCodeAt(at))) at++
  return at
}

function lossyIn(number: string): string | undefined {
  if (!LONG_INTEGER.test(number)) return undefined
  const nearest = Number(number)
  // Reading hundreds of thousands of digits as a BigInt takes long, so what no double reaches is not read.
  return Number.isFinite(nearest) && BigInt(number) === BigInt(nearest) ? undefined : number
}

function isDigit(code: number): boolean {
  return code >= ZERO! && code <= NINE!
}

function isOfNumber(code: number): boolean {
  return (
    isDigit(code) ||
    code === POINT ||
    code === PLUS ||
    code === MINUS ||
    code === EXPONENT ||
    code === LARGE_EXPONENT
  )
}

function codesOf(characters: string): number[] {
  return [...characters].map((character) => character.charCodeAt(0))
}
