/** Control, formatting and bidirectional characters, which could hide or reorder text. */
const HIDDEN = /[\p{Control}\p{Format}\p{Surrogate}\p{Line_Separator}\p{Paragraph_Separator}]/gu

/** Untrusted text with invisible characters written as `\u{202e}`, as in the terminal. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

/** Shortens text to at most `most` characters in its middle, since keys differ at their ends. */
export function shortened(text: string, most: number): string {
  const characters = [...text]
  if (characters.length <= most) return text
  const kept = most - 1
  const head = Math.ceil(kept / 2)
  return `${characters.slice(0, head).join('')}…${characters.slice(characters.length - (kept - head)).join('')}`
}
