import type { BucketView } from '../../core/bucket-view.ts'
import { showText } from '../display-text.ts'
import { fillBar, shortCount, shortTime } from './cells.ts'

const BAR = 5

/**
 * The quotas of a bucket as bars, the one that has least left first, and its places as `n of N`; empty for a limit that has only a
 * pace. A quota without room says in how long it has some.
 */
export function partsText({ quotas = [], places }: BucketView, now: number): string {
  const ranked = quotas.toSorted((a, b) => rankOf(b) - rankOf(a))
  const texts = ranked.map(({ quota, used, amount, roomAt }) => {
    const wait = roomAt === undefined || roomAt <= now ? '' : ` in ${shortTime(roomAt - now)}`
    return `${fillBar(used / amount, BAR).join('')} ${shortCount(used)} of ${showText(quota)}${wait}`
  })
  const taken =
    places === undefined ? [] : [`${shortCount(places.taken)} of ${shortCount(places.of)} at once`]
  return [...taken, ...texts].join('  ')
}

/** Whether the limit of a bucket has more than a pace. */
export function hasParts({ quotas, places }: BucketView): boolean {
  return quotas !== undefined || places !== undefined
}

/** Those without room first, then by the share that is used. */
function rankOf({ used, amount, roomAt }: NonNullable<BucketView['quotas']>[number]): number {
  return (roomAt === undefined ? 0 : 1e9) + used / amount
}
