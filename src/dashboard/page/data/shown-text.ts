/** Control, formatting and bidirectional characters: they would hide something, or turn the line around. */
const HIDDEN = /[\p{Control}\p{Format}\p{Surrogate}\p{Line_Separator}\p{Paragraph_Separator}]/gu

/** Somebody else's text: what cannot be seen is written as `\u{202e}`, as in the terminal. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

/** At most `most` characters: long text loses its middle, since the ends of keys tell them apart. */
export function shortened(text: string, most: number): string {
  const characters = [...text]
  if (characters.length <= most) return text
  const kept = most - 1
  const head = Math.ceil(kept / 2)
  return `${characters.slice(0, head).join('')}…${characters.slice(characters.length - (kept - head)).join('')}`
}
