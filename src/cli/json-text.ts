export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  /** `column`: where it stops being JSON, counted from 1. */
  | { readonly ok: false; readonly column: number }

/** Parses JSON, or finds the column of the fault. */
export function parseJson(text: string): ParsedJson {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    return { ok: false, column: firstBad(text) + 1 }
  }
}

/**
 * The engine does not always give the position. A prefix up to the fault fails because it is incomplete, a longer one
 * because of the fault itself, so a binary search finds it.
 */
function firstBad(text: string): number {
  let [good, bad] = [0, text.length + 1]
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (isUnfinished(text.slice(0, middle))) good = middle
    else bad = middle
  }
  return good
}

/** Whether the text may be the beginning of JSON. */
function isUnfinished(beginning: string): boolean {
  try {
    JSON.parse(beginning)
    return true
  } catch (error) {
    const message = error instanceof Error ? error.message : ''
    if (/^Unexpected end of JSON input|^Unterminated string/.test(message)) return true
    return Number(/at position (\d+)/.exec(message)?.[1] ?? -1) >= beginning.length
  }
}
