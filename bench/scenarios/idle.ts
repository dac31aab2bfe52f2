import { setTimeout as sleep } from 'node:timers/promises'
import { Shaper } from '../../dist/src/index.js'
import { feed } from '../burst.ts'
import { heapInUse } from '../heap.ts'
import { countTimers } from '../live-timers.ts'
import { ROPE } from '../products/index.ts'
import type { Payload } from '../products/product.ts'
import { limitOf } from '../products/velvet-rope.ts'
import { cell, decimals, medianOf, ropeOf, verdict } from '../report/figures.ts'
import type { Scenario } from './scenario.ts'

const KEYS = 1_000_000
const QUICK_KEYS = 100_000
const PACE = { count: 1, periodMs: 100 }

const whole = decimals(0)
const megabytes = (bytes: number) => `${decimals(1)(bytes / 1e6)} MB`

/** What is left of a million keys that were used once? */
export const idle: Scenario = {
  name: 'idle',
  timeLimitMs: 120_000,
  mostRounds: 3,

  trials(isQuick) {
    const keys = isQuick ? QUICK_KEYS : KEYS
    return [{ product: ROPE, pace: PACE, keys, jobs: keys }]
  },

  async measure({ pace, keys }) {
    const timers = countTimers()
    const shaper = new Shaper<Payload, void>('bench', { limits: { '*': limitOf(pace) } })
    let departed = 0
    const enqueue = async (key: string, data: Payload) => void (await shaper.enqueue(key, data))
    await feed(enqueue, ['warm-up'], 1)
    const before = heapInUse()
    for (let key = 0; key < keys; key += 1_000) {
      const names = Array.from({ length: 1_000 }, (_, index) => `key/${key + index}`)
      await feed(enqueue, names, names.length)
    }
    const waiting = heapInUse()
    const allDeparted = new Promise<void>((resolve) => {
      shaper.work(() => {
        if (++departed === keys + 1) resolve()
      })
    })
    await allDeparted
    await sleep(10 * pace.periodMs)
    const { total } = await shaper.buckets({ limit: 1 })
    return {
      figures: {
        before,
        waiting,
        bytesPerKey: (waiting - before) / keys,
        after: heapInUse(),
        buckets: total,
        timers: timers(),
      },
    }
  },

  tables(results) {
    const rope = ropeOf(results)
    const left = (medianOf(rope, 'after') ?? Number.NaN) - (medianOf(rope, 'before') ?? Number.NaN)
    return [
      {
        title: 'Idle: keys used once, one job each',
        columns: [
          'product',
          'keys',
          'heap before',
          'while all wait',
          'per key',
          '1 s after the last departed',
          'left',
          'live buckets left',
          'timers left',
        ],
        rows: results.map((result) => [
          result.name,
          whole(result.trial.keys),
          cell(result, 'before', megabytes),
          cell(result, 'waiting', megabytes),
          cell(result, 'bytesPerKey', (bytes) => `${whole(bytes)} B`),
          cell(result, 'after', megabytes),
          megabytes(left),
          cell(result, 'buckets', whole),
          cell(result, 'timers', whole),
        ]),
        notes: [
          verdict('live buckets left', medianOf(rope, 'buckets'), { most: 0 }, whole),
          'Timers are counted whether or not they keep the process alive.',
          'The shaper still knows its last 1,000 ended jobs (`keepFinished`).',
        ],
      },
    ]
  },
}
