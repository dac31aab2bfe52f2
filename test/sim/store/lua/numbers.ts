/** Numbers as texts, as C prints and reads them. */

/** `%.<precision>g` of a number. */
export function general(value: number, precision: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 10 ** Math.min(precision, 15)) return plainInteger(value)
  if (!Number.isFinite(value)) return notFinite(value)
  const text = exponential(value, precision - 1)
  const e = text.indexOf('e')
  const exponent = Number(text.slice(e + 1))
  if (exponent < -4 || exponent >= precision) {
    return `${withoutZeros(text.slice(0, e))}e${signedTwoDigits(exponent)}`
  }
  return withoutZeros(fixedOf(text.slice(0, e), exponent))
}

/** More digits than a tie between two roundings can have. */
const BEYOND = 30

/** Of two numbers that are as near, C prints the one with an even last digit, and JavaScript the greater one. */
function toEven(rounded: string, longer: string, length: number): string {
  const isTie = /^50*$/.test(longer.slice(length))
  const kept = longer.slice(0, length)
  return isTie && /[02468]\.?$/.test(kept) ? kept : rounded
}

/** `toExponential` with the rounding of C, and its exponents. */
export function exponential(value: number, digits: number): string {
  const text = value.toExponential(digits)
  const e = text.indexOf('e')
  const mantissa = text.slice(0, e)
  const more = value.toExponential(Math.min(100, digits + 1))
  const exponent = signedTwoDigits(Number(text.slice(e + 1)))
  if (more[more.indexOf('e') - 1] !== '5') return `${mantissa}e${exponent}`
  const longer = value.toExponential(Math.min(100, digits + BEYOND))
  const all = longer.slice(0, longer.indexOf('e'))
  // Without digits there is no point.
  const cut = digits === 0 ? all.replace('.', '') : all
  const even = toEven(mantissa, cut, mantissa.length)
  return even === mantissa
    ? `${mantissa}e${exponent}`
    : `${even}e${signedTwoDigits(Number(longer.slice(longer.indexOf('e') + 1)))}`
}

function plainInteger(value: number): string {
  return Object.is(value, -0) ? '-0' : `${value}`
}

/** The processor gives the NaN of an invalid operation a sign, and C prints it. */
function notFinite(value: number): string {
  if (Number.isNaN(value)) return '-nan'
  return value > 0 ? 'inf' : '-inf'
}

function fixedOf(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  if (exponent + 1 >= digits.length) return sign + digits.padEnd(exponent + 1, '0')
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

function signedTwoDigits(exponent: number): string {
  return `${exponent < 0 ? '-' : '+'}${`${Math.abs(exponent)}`.padStart(2, '0')}`
}

/** `%.17g`, which gives the same double back. Whole numbers below 2^53 are most of them. */
export function exact(value: number): string {
  if (Number.isSafeInteger(value)) return plainInteger(value)
  return general(value, 17)
}

/** As Lua's `tostring` prints it. */
export function numberText(value: number): string {
  return general(value, 14)
}

/** `%.<digits>f`: also beyond 1e21, where JavaScript changes to an exponent. */
export function fixed(value: number, digits: number): string {
  if (!Number.isFinite(value)) return notFinite(value)
  if (Math.abs(value) < 1e21 && digits <= 100) return keepSign(value, toFixed(value, digits))
  const whole = BigInt(Math.trunc(value)).toString()
  return digits > 0 ? `${whole}.${'0'.repeat(digits)}` : whole
}

function toFixed(value: number, digits: number): string {
  const text = value.toFixed(digits)
  if (!value.toFixed(Math.min(100, digits + 1)).endsWith('5')) return text
  const longer = value.toFixed(Math.min(100, digits + BEYOND))
  const point = longer.indexOf('.')
  const cut = digits === 0 ? longer.slice(0, point) + longer.slice(point + 1) : longer
  return toEven(text, cut, digits === 0 ? point : point + 1 + digits)
}

function keepSign(value: number, text: string): string {
  const isNegative = value < 0 || Object.is(value, -0)
  return isNegative && !text.startsWith('-') ? `-${text}` : text
}

const DECIMAL = /^[ \t\n\v\f\r]*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[ \t\n\v\f\r]*$/
const HEXADECIMAL =
  /^[ \t\n\v\f\r]*([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?(?:[pP]([+-]?\d+))?[ \t\n\v\f\r]*$/
const WORD = /^[ \t\n\v\f\r]*([+-]?)(inf(?:inity)?|nan)[ \t\n\v\f\r]*$/i

/**
 * The number that a text stands for as C's `strtod` reads it, up to a zero byte, white space around it allowed; or undefined.
 */
export function parseNumber(whole: string): number | undefined {
  const plain = digitsOnly(whole)
  if (plain >= 0) return plain
  const end = whole.indexOf('\0')
  const text = end === -1 ? whole : whole.slice(0, end)
  if (DECIMAL.test(text)) return Number(text)
  const hex = HEXADECIMAL.exec(text)
  if (hex !== null) return hexadecimal(hex)
  const word = WORD.exec(text)
  if (word === null) return undefined
  const size = word[2]!.toLowerCase() === 'nan' ? Number.NaN : Number.POSITIVE_INFINITY
  return word[1] === '-' ? -size : size
}

/** A whole number of at most 15 digits, as most are; -1 for any other text. */
function digitsOnly(text: string): number {
  const { length } = text
  if (length === 0 || length > 15) return -1
  let value = 0
  for (let at = 0; at < length; at++) {
    const digit = text.charCodeAt(at) - 0x30
    if (!(digit >= 0 && digit <= 9)) return -1
    value = value * 10 + digit
  }
  return value
}

function hexadecimal([, sign, whole = '', fraction = '', power = '0']: RegExpExecArray): number | undefined {
  if (whole === '' && fraction === '') return undefined
  let value = 0
  for (const digit of whole) value = value * 16 + Number.parseInt(digit, 16)
  let scale = 1 / 16
  for (const digit of fraction) {
    value += Number.parseInt(digit, 16) * scale
    scale /= 16
  }
  value *= 2 ** Number(power)
  return sign === '-' ? -value : value
}
