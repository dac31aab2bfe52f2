/** Quotes user text for a message: bounded, and with every character escaped that controls the terminal or ends a line. */
export function quote(text: string): string {
  const shown = text.length > 80 ? `${text.slice(0, 77)}...` : text
  return JSON.stringify(shown).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    escapeCharacter,
  )
}

/** To write down a bigint of any size takes long. */
const LARGE = 10n ** 30n

/** Names a value for a message without calling any code of its own. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return `${quote(value)} (string)`
  if (typeof value === 'bigint')
    return value > -LARGE && value < LARGE ? `${value}n (bigint)` : 'a large bigint'
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object') return 'an object'
  return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const LONGEST_LINE = 300

/** Turns foreign text into one line for a terminal: bounded, and without characters that could move the cursor. */
export function oneLine(text: string): string {
  const shown = text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE - 3)}...` : text
  return shown.replace(/[\p{Control}\p{Format}\p{Surrogate}\u2028\u2029]+/gu, ' ').trim()
}
