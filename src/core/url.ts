/**
 * Reads an absolute URL; undefined where the text is none. `URL.canParse` of Node 20 says no to valid text with a letter
 * such as ü once it was called often enough to be compiled, so it is used nowhere.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
