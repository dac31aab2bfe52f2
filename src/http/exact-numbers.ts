const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Shorter ones are exact. */
const LONG_INTEGER = /^-?\d{16,}$/

/**
 * The first integer of a JSON text that a double cannot hold, such as 12345678901234567890: parsed and written again
 * it would be another, and the number of an account or a message is no place for that.
 */
export function firstLossyInteger(json: string): string | undefined {
  if (!/\d{16}/.test(json)) return undefined
  for (const [token] of json.matchAll(TOKEN)) {
    if (LONG_INTEGER.test(token) && BigInt(token) !== BigInt(Number(token))) return token
  }
  return undefined
}
