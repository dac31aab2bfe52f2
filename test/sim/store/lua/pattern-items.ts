import { inClass } from './character-classes.ts'
import { fail } from './error.ts'

/** The single items of patterns, as `a`, `.`, `%d` and `[%w_]`: where they end, and what they stand for. */

const ESCAPE = 0x25

/** Where the single item that begins there ends. */
export function classEnd(pattern: string, p: number): number {
  if (pattern[p] === '%') {
    if (p + 1 >= pattern.length) fail("malformed pattern (ends with '%')")
    return p + 2
  }
  if (pattern[p] !== '[') return p + 1
  let at = p + 1
  if (pattern[at] === '^') at++
  do {
    if (at >= pattern.length) fail("malformed pattern (missing ']')")
    if (pattern[at++] === '%' && at < pattern.length) at++
  } while (pattern[at] !== ']')
  return at + 1
}

/** Whether a byte is one of those for which the item from `p` to `end` stands. */
export function isSingle(pattern: string, p: number, end: number, code: number): boolean {
  const kind = pattern.charCodeAt(p)
  if (kind === 0x2e) return true
  if (kind === ESCAPE) return inClass(code, pattern.charCodeAt(p + 1))
  if (kind === 0x5b) return inSet(pattern, code, p, end - 1)
  return kind === code
}

/** `end`: where its closing bracket stands. */
export function inSet(pattern: string, code: number, start: number, end: number): boolean {
  let at = start + 1
  const isInverted = pattern[at] === '^'
  if (isInverted) at++
  for (; at < end; at++) {
    if (pattern[at] === '%') {
      at++
      if (inClass(code, pattern.charCodeAt(at))) return !isInverted
    } else if (pattern[at + 1] === '-' && at + 2 < end) {
      if (pattern.charCodeAt(at) <= code && code <= pattern.charCodeAt(at + 2)) return !isInverted
      at += 2
    } else if (pattern.charCodeAt(at) === code) return !isInverted
  }
  return isInverted
}
