import { setTimeout as sleep } from 'node:timers/promises'
import { keysNamed } from '../../burst.ts'
import { ROPE } from '../../products/index.ts'
import { loadRedisProduct, type RedisProductName } from '../../products/redis/index.ts'
import { handInBatches } from '../../redis/handing.ts'
import { RedisInfo } from '../../redis/info.ts'
import { openRedisStage } from '../../redis/stage.ts'
import { cell, decimals, medianOf, ropeOf, verdict } from '../../report/figures.ts'
import type { Result, Scenario } from '../scenario.ts'
import { nameSize } from '../throughput.ts'

/** A queue and a worker of BullMQ for each key: more is not feasible in one process. */
const QUEUES = 200
const HOUR = { count: 1, periodMs: 3_600_000 }
const SECOND = { count: 1, periodMs: 1_000 }
const PER_CALL = 1_000
const WATCHED_MS = 10_000
/**
 * After the last job has started: its end is reported, buffers shrink, a `next` of a second passes, and what ended is forgotten,
 * of which velvet-rope remembers all for ten seconds.
 */
const SETTLE_MS = 20_000
/** After the warm-up, whose ends are reported meanwhile. */
const WARM_UP_MS = 3_000
const KEYS_LOOKED_AT = 2_000
const NAMES_SHOWN = 24
/** Before the name of a key that is left, in the figures of a sample. */
const LEFT = 'left '

const whole = decimals(0)
const percent = (share: number) => `${decimals(2)(share * 100)} %`

/** What do keys cost that were used once: while their `next` is in the future, and after it has passed? */
export const redisIdle: Scenario<RedisProductName> = {
  name: 'redis-idle',
  timeLimitMs: 300_000,
  mostRounds: 1,

  trials(isQuick) {
    const keys = isQuick ? 5_000 : 100_000
    return [HOUR, SECOND].flatMap((pace) => [
      { product: ROPE, pace, keys, jobs: keys },
      { product: 'bullmq-per-key', pace, keys: QUEUES, jobs: QUEUES },
      { product: 'bullmq-unshaped', pace, keys, jobs: keys },
    ])
  },

  async measure({ product, pace, keys, jobs }, socket) {
    const setup = { socket, pace, keys: keysNamed('key', keys) }
    const stage = await openRedisStage(await loadRedisProduct(product), setup)
    const info = new RedisInfo(socket)
    await sleep(WARM_UP_MS)
    const empty = await info.usedMemory()
    await handInBatches(stage.producer, setup.keys, jobs, PER_CALL)
    await stage.started(jobs)
    await sleep(SETTLE_MS)
    const from = await info.cpuSeconds()
    const started = performance.now()
    await sleep(WATCHED_MS)
    const cpu = ((await info.cpuSeconds()) - from) / ((performance.now() - started) / 1_000)
    const left = await info.entriesByKey(KEYS_LOOKED_AT)
    const live = await stage.producer.liveBuckets?.()
    return {
      figures: {
        cpu,
        keysLeft: await info.countKeys(),
        bytesPerKey: ((await info.usedMemory()) - empty) / keys,
        ...(live !== undefined && { live }),
        ...Object.fromEntries([...left].slice(0, NAMES_SHOWN).map(([key, entries]) => [LEFT + key, entries])),
      },
    }
  },

  tables(results) {
    const past = results.filter(({ trial }) => trial.pace.periodMs === SECOND.periodMs)
    const ropePast = ropeOf(past)
    return [
      {
        title: 'Redis, idle: keys used once, one job each, and a worker that waits for more',
        columns: [
          'product',
          'next of the keys',
          'keys used',
          'processor time of Redis, of one core',
          'bytes left per key',
          'Redis keys left',
          'live buckets left',
        ],
        rows: results.map((result) => [
          result.name,
          result.trial.pace.periodMs === HOUR.periodMs ? 'in an hour' : 'passed',
          nameSize(result.trial.keys),
          cell(result, 'cpu', percent),
          cell(result, 'bytesPerKey', whole),
          cell(result, 'keysLeft', whole),
          cell(result, 'live', whole),
        ]),
        notes: [
          `Processor time over ${WATCHED_MS / 1_000} s, from ${SETTLE_MS / 1_000} s after the last start on.`,
          'Bytes left hold the last jobs that ended and, of BullMQ, what a queue is; few keys make them rough.',
          verdict(
            'processor time of Redis, next passed',
            medianOf(ropePast, 'cpu'),
            { most: 0.005 },
            percent,
          ),
          verdict('live buckets left, next passed', medianOf(ropePast, 'live'), { most: 0 }, whole),
          `Left of velvet-rope, next passed, with the number of entries: ${namesLeft(ropePast)}.`,
          `BullMQ has a queue and a worker for each key: ${QUEUES} of them, each asking every few seconds; a hundred thousand ` +
            'are not feasible. "BullMQ, unshaped" is one queue, one worker and no limit.',
        ],
      },
    ]
  },
}

function namesLeft(result: Result | undefined): string {
  const figures = Object.entries(result?.samples[0]?.figures ?? {})
  const names = figures
    .filter(([name]) => name.startsWith(LEFT))
    .map(([name, entries]) => `\`${name.slice(LEFT.length)}\` (${whole(entries)})`)
  return names.length === 0 ? 'nothing' : names.join(', ')
}
