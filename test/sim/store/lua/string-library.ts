import { badArgument, integerArg, integerOr, numberArg, textArg } from './args.ts'
import { fail } from './error.ts'
import { format } from './format.ts'
import { numberText } from './numbers.ts'
import { callee, first, index } from './operators.ts'
import { regExpOf } from './pattern-regexp.ts'
import { type Capture, Matcher } from './patterns.ts'
import { type LuaFunction, LuaTable, type Result, typeName, type Value } from './value.ts'

/** From the end when it is negative. */
function absolute(position: number, length: number): number {
  if (position >= 0) return position
  return -position > length ? 0 : length + position + 1
}

const sub: LuaFunction = (value, from, to) => {
  const text = textArg(value, 1, 'sub')
  const start = Math.max(1, absolute(integerArg(from, 2, 'sub'), text.length))
  const end = Math.min(text.length, absolute(integerOr(to, -1, 3, 'sub'), text.length))
  return start > end ? '' : text.slice(start - 1, end)
}

const byte: LuaFunction = (value, from, to) => {
  const text = textArg(value, 1, 'byte')
  const first = absolute(integerOr(from, 1, 2, 'byte'), text.length)
  const start = Math.max(1, first)
  const end = Math.min(text.length, absolute(integerOr(to, first, 3, 'byte'), text.length))
  if (start === end) return text.charCodeAt(start - 1)
  const codes: number[] = []
  for (let at = start; at <= end; at++) codes.push(text.charCodeAt(at - 1))
  return codes
}

const char: LuaFunction = (...codes) => {
  const read = codes.map((value, at) => {
    const code = integerArg(value, at + 1, 'char')
    return code >= 0 && code <= 255 ? code : badArgument(at + 1, 'char', 'invalid value')
  })
  return String.fromCharCode(...read)
}

/** Only the letters of ASCII, since a character is a byte. */
function upper(text: string): string {
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())
}

function lower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** Without any of these a pattern is the text that it finds. */
const SPECIAL = /[\^$*+?.([%-]/

function find(isFind: boolean, ...args: Value[]): Result {
  const name = isFind ? 'find' : 'match'
  const text = textArg(args[0], 1, name)
  const pattern = textArg(args[1], 2, name)
  const start = absolute(integerOr(args[2], 1, 3, name), text.length) - 1
  const from = Math.min(Math.max(0, start), text.length)
  const isPlain = args[3] !== undefined && args[3] !== false
  if (isFind && (isPlain || !SPECIAL.test(pattern))) {
    const at = text.indexOf(pattern, from)
    return at === -1 ? [undefined] : [at + 1, at + pattern.length]
  }
  const regExp = regExpOf(pattern)
  return regExp === undefined ? search(isFind, text, pattern, from) : searchBy(regExp, isFind, text, from)
}

function searchBy(regExp: RegExp, isFind: boolean, text: string, from: number): Result {
  regExp.lastIndex = from
  const found = regExp.exec(text)
  if (found === null) return [undefined]
  const [whole, ...captures] = found
  if (isFind) return [found.index + 1, found.index + whole.length, ...captures]
  return captures.length === 0 ? [whole] : captures
}

function search(isFind: boolean, text: string, pattern: string, from: number): Result {
  const matcher = new Matcher(text, pattern)
  const isAnchored = pattern.startsWith('^')
  for (let at = from; at <= text.length; at++) {
    const end = matcher.match(at, isAnchored ? 1 : 0)
    if (end !== -1) {
      if (!isFind) return matcher.captures(at, end)
      return [at + 1, end, ...(matcher.count === 0 ? [] : matcher.captures(at, end))]
    }
    if (isAnchored) break
  }
  return [undefined]
}

const gmatch: LuaFunction = (value, wanted) => {
  const text = textArg(value, 1, 'gmatch')
  const matcher = new Matcher(text, textArg(wanted, 2, 'gmatch'))
  let from = 0
  return () => {
    for (let at = from; at <= text.length; at++) {
      const end = matcher.match(at, 0)
      if (end === -1) continue
      from = end === at ? end + 1 : end
      return matcher.captures(at, end)
    }
    from = text.length + 1
    return [undefined]
  }
}

const gsub: LuaFunction = (value, wanted, replacement, limit) => {
  const text = textArg(value, 1, 'gsub')
  const pattern = textArg(wanted, 2, 'gsub')
  const isKnown =
    typeof replacement === 'function' || replacement instanceof LuaTable || typeof replacement === 'string'
  if (!isKnown && typeof replacement !== 'number') {
    return badArgument(3, 'gsub', `string/function/table expected`)
  }
  const most = limit === undefined ? text.length + 1 : integerArg(limit, 4, 'gsub')
  const isAnchored = pattern.startsWith('^')
  const matcher = new Matcher(text, pattern)
  const parts: string[] = []
  let at = 0
  let count = 0
  while (count < most) {
    const end = matcher.match(at, isAnchored ? 1 : 0)
    if (end !== -1) {
      count++
      parts.push(replace(matcher, at, end, replacement))
    }
    if (end !== -1 && end > at) at = end
    else if (at < text.length) parts.push(text[at++]!)
    else break
    if (isAnchored) break
  }
  return [parts.join('') + text.slice(at), count]
}

function replace(matcher: Matcher, start: number, end: number, replacement: Value): string {
  const whole = matcher.text.slice(start, end)
  if (typeof replacement === 'string' || typeof replacement === 'number') {
    const text = typeof replacement === 'number' ? numberText(replacement) : replacement
    return text.includes('%') ? expand(matcher, text, whole) : text
  }
  const captures = matcher.captures(start, end)
  const found =
    typeof replacement === 'function'
      ? first(callee(replacement)(...captures))
      : index(replacement, captures[0])
  if (found === undefined || found === false) return whole
  if (typeof found === 'string') return found
  if (typeof found === 'number') return numberText(found)
  return fail(`invalid replacement value (a ${typeName(found)})`)
}

function expand(matcher: Matcher, text: string, whole: string): string {
  return text.replace(/%([\s\S]?)/g, (_, digit: string) => {
    if (!/\d/.test(digit)) return digit
    if (digit === '0' || (digit === '1' && matcher.count === 0)) return whole
    const at = Number(digit) - 1
    if (at >= matcher.count) return fail('invalid capture index')
    return textOfCapture(matcher.capture(at))
  })
}

function textOfCapture(capture: Capture): string {
  return typeof capture === 'number' ? numberText(capture) : capture
}

export const STRING: Readonly<Record<string, LuaFunction>> = {
  sub,
  byte,
  char,
  gmatch,
  gsub,
  format,
  find: (...args) => find(true, ...args),
  match: (...args) => find(false, ...args),
  len: (value) => textArg(value, 1, 'len').length,
  lower: (value) => lower(textArg(value, 1, 'lower')),
  upper: (value) => upper(textArg(value, 1, 'upper')),
  rep: (value, count) => {
    return textArg(value, 1, 'rep').repeat(Math.max(0, numberArg(count, 2, 'rep')))
  },
  reverse: (value) => [...textArg(value, 1, 'reverse')].reverse().join(''),
}
