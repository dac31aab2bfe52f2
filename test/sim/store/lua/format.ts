import { badArgument, numberArg, textArg } from './args.ts'
import { fail } from './error.ts'
import { exponential, fixed, general } from './numbers.ts'
import type { LuaFunction, Value } from './value.ts'

interface Directive {
  readonly flags: string
  readonly width: number
  readonly precision: number | undefined
  readonly kind: string
}

const DIRECTIVE = /^([-+ #0]*)(\d*)(?:\.(\d*))?([\s\S]?)/

/** `string.format`. */
export const format: LuaFunction = (value, ...args) => {
  const pattern = textArg(value, 1, 'format')
  let text = ''
  let at = 0
  let taken = 0
  for (;;) {
    const percent = pattern.indexOf('%', at)
    if (percent === -1) return text + pattern.slice(at)
    text += pattern.slice(at, percent)
    at = percent + 1
    if (pattern[at] === '%') {
      text += '%'
      at++
      continue
    }
    const [whole, flags = '', width = '', precision, kind = ''] = DIRECTIVE.exec(pattern.slice(at))!
    if (flags.length > 5) fail('invalid format (repeated flags)')
    if (width.length > 2 || (precision?.length ?? 0) > 2) {
      fail('invalid format (width or precision too long)')
    }
    at += whole.length
    const directive = {
      flags,
      kind,
      width: Number(width),
      precision: precision === undefined ? undefined : Number(precision),
    }
    text += one(directive, args[taken], taken + 2, taken < args.length)
    taken++
  }
}

function one(directive: Directive, value: Value, position: number, isThere: boolean): string {
  const { kind } = directive
  if (!isThere) return badArgument(position, 'format', 'no value')
  if (kind === 's') return strings(directive, textArg(value, position, 'format'))
  if (kind === 'q') return quoted(textArg(value, position, 'format'))
  if (kind === 'c') return character(directive, numberArg(value, position, 'format'))
  if (/[di]/.test(kind)) return whole(directive, numberArg(value, position, 'format'))
  if (/[ouxX]/.test(kind) && kind !== '') return unsigned(directive, numberArg(value, position, 'format'))
  if (/[eEfgG]/.test(kind)) return real(directive, numberArg(value, position, 'format'))
  return fail(`invalid option '%${kind}' to 'format'`)
}

/** As C does it: what is too large for an int becomes the least one, and a text ends where a zero comes. */
function character(directive: Directive, code: number): string {
  const byte = Math.abs(code) < 2 ** 31 ? code & 255 : 0
  return padded(directive, '', String.fromCharCode(byte), false).split('\0')[0]!
}

function strings(directive: Directive, text: string): string {
  const { precision } = directive
  return padded(
    { ...directive, flags: directive.flags.replace('0', '') },
    '',
    text.slice(0, precision),
    false,
  )
}

function quoted(text: string): string {
  const escaped = text.replace(/["\\\n\r\0]/g, (char) => {
    if (char === '\r') return '\\r'
    return char === '\0' ? '\\000' : `\\${char}`
  })
  return `"${escaped}"`
}

function signOf(flags: string, isNegative: boolean): string {
  if (isNegative) return '-'
  if (flags.includes('+')) return '+'
  return flags.includes(' ') ? ' ' : ''
}

function toLong(value: number): bigint {
  if (!(Math.abs(value) < 2 ** 63)) return -(2n ** 63n)
  return BigInt(Math.trunc(value))
}

function whole(directive: Directive, value: number): string {
  const long = toLong(value)
  const digits = (long < 0n ? -long : long).toString()
  return integer(directive, signOf(directive.flags, long < 0n), digits)
}

function unsigned(directive: Directive, value: number): string {
  const long = value >= 2 ** 63 && value < 2 ** 64 ? BigInt(Math.trunc(value)) : toLong(value)
  const radix = directive.kind === 'o' ? 8 : directive.kind === 'u' ? 10 : 16
  let digits = BigInt.asUintN(64, long).toString(radix)
  const hasPrefix = directive.flags.includes('#') && digits !== '0'
  if (directive.kind === 'X') digits = digits.toUpperCase()
  if (hasPrefix && radix === 8 && (directive.precision ?? 0) <= digits.length) digits = `0${digits}`
  return integer(directive, hasPrefix && radix === 16 ? `0${directive.kind}` : '', digits)
}

/** With a precision, zeros come from it alone. */
function integer(directive: Directive, sign: string, digits: string): string {
  const { precision } = directive
  if (precision === undefined) return padded(directive, sign, digits, true)
  const shown = precision === 0 && digits === '0' ? '' : digits.padStart(precision, '0')
  return padded(directive, sign, shown, false)
}

function real(directive: Directive, value: number): string {
  const { kind, flags } = directive
  const precision = directive.precision ?? 6
  if (!Number.isFinite(value)) {
    const text = Number.isNaN(value) ? 'nan' : 'inf'
    const shown = /[EG]/.test(kind) ? text.toUpperCase() : text
    return padded(directive, signOf(flags, Number.isNaN(value) || value < 0), shown, false)
  }
  const isNegative = value < 0 || Object.is(value, -0)
  const size = Math.abs(value)
  let text: string
  if (kind === 'f') text = fixed(size, precision)
  else if (/[eE]/.test(kind)) text = exponential(size, precision)
  else text = general(size, Math.max(1, precision))
  if (/[EG]/.test(kind)) text = text.toUpperCase()
  return padded(directive, signOf(flags, isNegative), text, true)
}

function padded({ flags, width }: Directive, sign: string, text: string, mayFill: boolean): string {
  const missing = width - sign.length - text.length
  if (missing <= 0) return sign + text
  if (flags.includes('-')) return sign + text + ' '.repeat(missing)
  if (mayFill && flags.includes('0')) return sign + '0'.repeat(missing) + text
  return ' '.repeat(missing) + sign + text
}
