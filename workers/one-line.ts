const LONGEST = 300

/** Somebody else's text as one line that cannot move the cursor: bounded, and without control characters. */
export function oneLine(text: string): string {
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST - 3)}...` : text
  return shown.replace(/[\p{Control}\p{Format}\p{Surrogate}\u2028\u2029]+/gu, ' ').trim()
}
