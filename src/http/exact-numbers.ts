const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Integers with fewer digits are exact. */
const LONG_INTEGER = /^-?\d{16,}$/

/**
 * Finds the first integer of a JSON text that a double cannot hold, such as 12345678901234567890. Parsing would change
 * it, which must not happen to the number of an account or a message.
 */
export function firstLossyInteger(json: string): string | undefined {
  if (!/\d{16}/.test(json)) return undefined
  for (const [token] of json.matchAll(TOKEN)) {
    if (LONG_INTEGER.test(token) && BigInt(token) !== BigInt(Number(token))) return token
  }
  return undefined
}
