import { LuaError } from './error.ts'
import { classEnd, isSingle } from './pattern-items.ts'

/**
 * Patterns of Lua as regular expressions of JavaScript, which match several times faster. Both take the first match in the same
 * order, since a pattern repeats single items only. Without an equal are `%b`, `%f`, `%1` and `()`; those, and patterns with an
 * error, are left to `Matcher`.
 */

/** So many patterns are remembered. */
const MOST = 500
const known = new Map<string, RegExp | undefined>()
const LAST = 255
/** With more captures a pattern is an error. */
const MOST_CAPTURES = 32

/** It begins to match at its `lastIndex`, and nowhere else where the pattern begins with `^`; undefined when there is none. */
export function regExpOf(pattern: string): RegExp | undefined {
  if (known.has(pattern)) return known.get(pattern)
  if (known.size >= MOST) known.clear()
  const made = make(pattern)
  known.set(pattern, made)
  return made
}

function make(pattern: string): RegExp | undefined {
  try {
    const isAnchored = pattern.startsWith('^')
    const source = sourceOf(pattern, isAnchored ? 1 : 0)
    return source === undefined ? undefined : new RegExp(source, isAnchored ? 'y' : 'g')
  } catch (error) {
    // A pattern is malformed only where a match comes to that place.
    if (error instanceof LuaError) return undefined
    throw error
  }
}

function sourceOf(pattern: string, start: number): string | undefined {
  let source = ''
  let open = 0
  let captures = 0
  for (let at = start; at < pattern.length; ) {
    const sign = pattern[at]
    if (sign === '(') {
      if (pattern[at + 1] === ')' || ++captures > MOST_CAPTURES) return undefined
      open++
      source += '('
      at++
    } else if (sign === ')') {
      if (open === 0) return undefined
      open--
      source += ')'
      at++
    } else if (sign === '$' && at + 1 === pattern.length) {
      source += '$'
      at++
    } else {
      if (sign === '%' && /[bf\d]/.test(pattern[at + 1] ?? '')) return undefined
      const end = classEnd(pattern, at)
      const suffix = /[*+?-]/.exec(pattern[end] ?? '')?.[0] ?? ''
      source += itemOf(pattern, at, end) + (suffix === '-' ? '*?' : suffix)
      at = end + suffix.length
    }
  }
  return open === 0 ? source : undefined
}

/** A class of all bytes that the item stands for. */
function itemOf(pattern: string, at: number, end: number): string {
  let ranges = ''
  for (let code = 0; code <= LAST; code++) {
    if (!isSingle(pattern, at, end, code)) continue
    const first = code
    while (code < LAST && isSingle(pattern, at, end, code + 1)) code++
    ranges += `${hex(first)}-${hex(code)}`
  }
  return `[${ranges}]`
}

function hex(code: number): string {
  return `\\x${code.toString(16).padStart(2, '0')}`
}
