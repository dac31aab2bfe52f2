import { checkHistory } from '../src/conformance/conformance.ts'
import type { HistoryEvent } from '../src/conformance/history.ts'
import { MILLISECOND } from '../src/core/duration.ts'
import { parseLimit } from '../src/core/limit.ts'
import type { Pace } from './products/product.ts'
import { limitOf } from './products/velvet-rope.ts'

/**
 * Starts of one key that break L2: they do not conform to GCRA with the interval and its default tolerance, which is
 * 5 ms, at most a quarter of the interval, or with none where the pace is strict. The same checker judges every product, and our tests.
 *
 * @param starts milliseconds
 */
export function breachesOfSpacing(starts: readonly number[], pace: Pace): number {
  const key = 'checked'
  const cost = 1
  const from = starts[0]! * MILLISECOND
  const history: HistoryEvent[] = [{ type: 'limit', at: from, key, limit: parseLimit(limitOf(pace)) }]
  for (const [index, start] of starts.entries()) {
    const at = start * MILLISECOND
    const id = String(index)
    history.push(
      { type: 'answer', at, id, key, cost, accepted: true, departsAt: at },
      { type: 'start', at, id, key, cost, attempt: 1 },
      { type: 'end', at, id, outcome: 'completed' },
    )
  }
  return checkHistory(history).filter(({ law }) => law === 'L2').length
}
