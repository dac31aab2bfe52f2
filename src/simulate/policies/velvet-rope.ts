import { formatRate } from '../../core/rate.ts'
import { KeyLine } from '../key-line.ts'
import type { Policy } from './policy.ts'

/** The leaky bucket as a queue: velvet-rope. */
export const velvetRope: Policy = {
  name: 'velvet-rope',
  mapping: (limit) =>
    `a line of at most ${limit.capacity}, departing one by one at ${formatRate(limit.rate)}`,
  open: (limit) => {
    const line = new KeyLine(limit)
    return {
      offer: (cost, now) => {
        const outcome = line.offer(cost, now)
        return outcome.accepted ? outcome.departsAt : undefined
      },
      isOver: (now) => line.isOver(now),
    }
  },
}
