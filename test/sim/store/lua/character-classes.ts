/** The classes as the C locale has them. */
const CLASSES: Readonly<Record<string, (code: number) => boolean>> = {
  a: (code) => isLower(code) || isUpper(code),
  c: (code) => code < 32 || code === 127,
  d: (code) => isDigit(code),
  l: (code) => isLower(code),
  p: (code) => code > 32 && code < 127 && !isWord(code),
  s: (code) => code === 32 || (code >= 9 && code <= 13),
  u: (code) => isUpper(code),
  w: (code) => isWord(code),
  x: (code) => isDigit(code) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70),
  z: (code) => code === 0,
}

/** Of each byte that may follow a `%`, the bytes that it stands for. */
const STANDS_FOR = Uint8Array.from({ length: 256 * 256 }, (_, at) => (standsFor(at & 255, at >> 8) ? 1 : 0))

function standsFor(code: number, kind: number): boolean {
  const letter = String.fromCharCode(kind)
  const test = CLASSES[letter.toLowerCase()]
  if (test === undefined || !isWord(kind)) return kind === code
  return isUpper(kind) ? !test(code) : test(code)
}

/** Whether a byte is of a class as `%a`, or the byte after a `%` itself. */
export function inClass(code: number, kind: number): boolean {
  return STANDS_FOR[(kind << 8) | code] === 1
}

function isLower(code: number): boolean {
  return code >= 97 && code <= 122
}

function isUpper(code: number): boolean {
  return code >= 65 && code <= 90
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function isWord(code: number): boolean {
  return isLower(code) || isUpper(code) || isDigit(code)
}
