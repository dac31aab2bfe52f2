/**
 * Parses an absolute URL; returns undefined if the text is none. `URL.canParse` is not used anywhere: in Node 20 it
 * rejects valid text with a letter such as ü once it has been called often enough to be compiled.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
