/** Control, formatting and bidirectional characters, which could move the cursor or reorder text. */
const HIDDEN = /[\p{Control}\p{Format}\p{Surrogate}\p{Line_Separator}\p{Paragraph_Separator}]/gu
/** Characters two columns wide: East Asian scripts and emoji (wide and fullwidth in Unicode's UAX 11). */
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})$/u
/** Combining marks, which take no column. */
const MARK = /^\p{Mark}$/u

// Built, because a literal must not hold a control character.
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')

/** Untrusted text for a terminal, with invisible characters written as `\u{202e}`. */
export function showText(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

/** The width of text in terminal columns; it must hold no colour codes. */
export function textWidth(text: string): number {
  let width = 0
  for (const character of text) width += characterWidth(character)
  return width
}

/** Shortens text to a width with `…` in its middle, since keys differ at their ends. */
export function fitText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  if (width < 1) return ''
  const characters = [...text]
  const head = take(characters, Math.floor((width - 1) / 2))
  const tail = take(characters.toReversed(), width - 1 - textWidth(head.join('')))
  return `${head.join('')}…${tail.reverse().join('')}`
}

/** Shortens text to a width with `…` at its end, for sentences. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  return width < 1 ? '' : `${take([...text], width - 1).join('')}…`
}

/** Text without colour codes. */
export function plainText(text: string): string {
  return text.replace(COLOUR, '')
}

/** Cuts or pads text to exactly this width. */
export function padText(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const fitted = fitText(text, width)
  const space = ' '.repeat(Math.max(0, width - textWidth(fitted)))
  return align === 'right' ? space + fitted : fitted + space
}

function take(characters: readonly string[], width: number): string[] {
  const taken: string[] = []
  let used = 0
  for (const character of characters) {
    used += characterWidth(character)
    if (used > width) break
    taken.push(character)
  }
  return taken
}

function characterWidth(character: string): number {
  // Most text is ASCII, and Unicode patterns are slow.
  if (character <= '~') return 1
  if (MARK.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}
