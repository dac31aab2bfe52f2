import { expect, onTestFinished, test } from 'vitest'
import { checkHistory } from '../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../src/conformance/history.ts'
import { createBucket, reserve } from '../../src/core/bucket.ts'
import { parseLimit } from '../../src/core/limit.ts'
import { Shaper } from '../../src/index.ts'
import { eventually } from '../support/patience.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const LIMIT = '99, 50/s, warm-up 1s from 10/s'
const JOBS = 60

/** How long the last start is after the first, when nothing is ever late. */
function soonestSpan(): number {
  const bucket = createBucket(parseLimit(LIMIT))
  const slots = Array.from({ length: JOBS }, () => reserve(bucket, 1, 0))
  return slots.at(-1)!
}

test.each(['in this process', 'over two workers on Redis'])(
  'a line warms up %s in real time',
  async (where) => {
    const isShared = where.endsWith('Redis')
    const shared = isShared ? { connection: redisAddress(), prefix: uniquePrefix() } : {}
    const shapers = Array.from({ length: isShared ? 2 : 1 }, () => {
      const shaper = new Shaper('warm', { limits: { '*': LIMIT }, ...shared })
      onTestFinished(() => shaper.close())
      return shaper
    })
    const departed: { id: string; at: number }[] = []
    for (const shaper of shapers) {
      shaper.work(({ id, departedAt }) => void departed.push({ id, at: departedAt * 1_000 }))
      await shaper.ready()
    }
    const requests = Array.from({ length: JOBS }, (_, data) => ({ key: 'k', data }))
    await shapers[0]!.enqueueMany(requests)
    await eventually(() => expect(departed).toHaveLength(JOBS))

    departed.sort((one, other) => one.at - other.at)
    const limit = parseLimit(LIMIT)
    const history: HistoryEvent[] = [
      { type: 'limit', at: 0, key: 'k', limit },
      ...departed.map(({ id, at }) => ({ type: 'start', at, id, key: 'k', cost: 1, attempt: 1 }) as const),
    ]
    const breaches = checkHistory(history, { unfinished: true })
    expect(breaches.filter(({ law }) => law === 'L2')).toEqual([])
    const span = departed.at(-1)!.at - departed[0]!.at
    expect(span).toBeGreaterThanOrEqual(soonestSpan() - limit.tolerance)
  },
)
