import { hasParts } from '../../core/limit.ts'
import { nameOfQuota } from '../../core/quota-input.ts'
import { formatRate } from '../../core/rate.ts'
import { KeyLine } from '../key-line.ts'
import type { Policy } from './policy.ts'

/**
 * The leaky bucket as a queue: velvet-rope.
 *
 * @param handlerTime how long a handler holds its place, in microseconds
 */
export function velvetRope(handlerTime = 0): Policy {
  return {
    name: 'velvet-rope',
    mapping: (limit) => {
      const { capacity, rate, quotas, concurrency } = limit
      const line = `a line of at most ${capacity}, departing one by one at ${formatRate(rate)}`
      if (!hasParts(limit)) return line
      const places = Number.isFinite(concurrency) ? [`${concurrency} at once`] : []
      return `${line}, within ${[...quotas.map(nameOfQuota), ...places].join(' and ')}`
    },
    open: (limit) => {
      const line = new KeyLine(limit, handlerTime)
      return {
        offer: ({ cost, costs }, now) => {
          const outcome = line.offer(cost, now, costs)
          return outcome.accepted ? outcome.departsAt : undefined
        },
        isOver: (now) => line.isOver(now),
      }
    },
  }
}
