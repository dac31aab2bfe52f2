import type { QuotaView } from '../../core/bucket-view.ts'
import { showText } from '../display-text.ts'
import { fillBar, shortCount, shortTime } from './cells.ts'
import type { TopRow } from './rows.ts'

const BAR = 5

/**
 * The quotas of a row as bars, the one that has least left first, and its places as `n of N`; empty for a limit that has only a
 * pace. A quota without room, also for what the next job counts, says in how long it has some.
 */
export function partsText({ quotas = [], places, heldBy }: TopRow, now: number): string {
  const counted = quotas.map((quota) => ({ ...quota, roomAt: roomOf(quota, heldBy) }))
  const ranked = counted.toSorted((a, b) => rankOf(b) - rankOf(a))
  const texts = ranked.map(({ quota, used, amount, roomAt }) => {
    const wait = roomAt === undefined || roomAt <= now ? '' : ` in ${shortTime(roomAt - now)}`
    return `${fillBar(used / amount, BAR).join('')} ${shortCount(used)} of ${showText(quota)}${wait}`
  })
  const taken =
    places === undefined ? [] : [`${shortCount(places.taken)} of ${shortCount(places.of)} at once`]
  return [...taken, ...texts].join('  ')
}

/** Whether the limit of a bucket has more than a pace. */
export function hasParts({ quotas, places }: TopRow): boolean {
  return quotas !== undefined || places !== undefined
}

/** When there is room for another job, and for the next one, which may count more. */
function roomOf({ quota, roomAt }: QuotaView, heldBy: TopRow['heldBy']): number | undefined {
  const until = heldBy?.quota === quota ? heldBy.until : undefined
  return roomAt === undefined || until === undefined ? (roomAt ?? until) : Math.max(roomAt, until)
}

/** Those without room first, then by the share that is used. */
function rankOf({ used, amount, roomAt }: QuotaView): number {
  return (roomAt === undefined ? 0 : 1e9) + used / amount
}
