import type { MOST_NOTES, Recent } from '../../../core/line-view.ts'

/** As many starts of a bucket as the service remembers. Another number does not compile. */
const MOST_STARTS: typeof MOST_NOTES = 50
/** Starts are compared over at most this time. */
const LONGEST_MS = 60_000

/** One child of a total: a bucket, or a family below it. */
export interface Child {
  /** Its key, or its path. */
  readonly name: string
  readonly weight: number
  readonly waiting: number
  /** What started in it; absent for a family below, and while it is unknown. */
  readonly recent?: Recent
}

export interface ChildShare {
  readonly name: string
  /** Starts in the window; absent where they are not known. */
  readonly starts?: number
  /** Its part of all starts that are known, 0 to 1; absent before the first. */
  readonly share?: number
  /** Its part by weight, of the children that are counted and in which something waits; absent where it is none of them. */
  readonly fair?: number
}

/** What each child started, over one window for all: at most a minute, since `from`, and no longer than every list of starts reaches back. */
export function sharesOf(
  children: readonly Child[],
  from: number,
  now: number,
): { readonly windowMs: number; readonly shares: readonly ChildShare[] } {
  const lists = children.flatMap(({ recent }) => (recent === undefined ? [] : [recent.departures]))
  const reaches = lists.flatMap((list) => (list.length < MOST_STARTS ? [] : [list.at(-1)!.at]))
  const since = Math.max(now - LONGEST_MS, from, ...reaches)
  const starts = children.map(({ recent }) => recent?.departures.filter(({ at }) => at >= since).length)
  const all = starts.reduce<number>((sum, count = 0) => sum + count, 0)
  const isCompared = ({ recent, waiting }: Child) => recent !== undefined && waiting > 0
  const weights = children.filter(isCompared).reduce((sum, { weight }) => sum + weight, 0)
  return {
    windowMs: Math.max(0, now - since),
    shares: children.map((child, index) => {
      const own = starts[index]
      return {
        name: child.name,
        ...(own !== undefined && { starts: own }),
        ...(own !== undefined && all > 0 && { share: own / all }),
        ...(isCompared(child) && { fair: child.weight / weights }),
      }
    }),
  }
}
