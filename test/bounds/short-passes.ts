import { ScriptCalls } from '../../src/redis/scripts/script-calls.ts'

/** Where the next cursor stands in the reply of each script that goes through all buckets, page by page. */
const CURSORS: Readonly<Record<string, number>> = { audit: 0, stale: 1, survey: 1, tally: 1, walk: 1 }
/** So many pages are read at each end of a pass. */
const PAGES = 20
const BUCKETS_OF_PAGE = 200

/**
 * While `act` is under way, of a pass over so many buckets only the first pages and the last ones are read: one page costs what
 * another does, and a million buckets have five thousand. What the pass finds is then not complete.
 */
export async function inShortPasses<Answer>(buckets: number, act: () => Promise<Answer>): Promise<Answer> {
  const { send } = ScriptCalls.prototype
  const pages = new Map<string, number>()
  ScriptCalls.prototype.send = async function (script, key, values) {
    const reply = await send.call(this, script, key, values)
    const place = CURSORS[script.verb]
    if (place === undefined || !Array.isArray(reply)) return reply
    const read = String(reply[place]) === '0' ? 0 : (pages.get(script.verb) ?? 0) + 1
    pages.set(script.verb, read)
    const later = read === PAGES ? cursorBeforeEnd(buckets, values[0] === 'due') : undefined
    return later === undefined ? reply : reply.with(place, later)
  }
  try {
    return await act()
  } finally {
    ScriptCalls.prototype.send = send
  }
}

/** Undefined where a pass has few pages. */
function cursorBeforeEnd(buckets: number, isRank: boolean): string | undefined {
  const last = PAGES * BUCKETS_OF_PAGE
  if (buckets < 4 * last) return undefined
  // HSCAN counts with the lowest bit as the highest: with so many bits set, this part of the hash is left.
  return String(isRank ? buckets - last : 2 ** Math.floor(Math.log2(buckets / last)) - 1)
}
