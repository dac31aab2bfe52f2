import { setTimeout as sleep } from 'node:timers/promises'
import { keysNamed } from '../../burst.ts'
import { ROPE } from '../../products/index.ts'
import { loadRedisProduct, type RedisProductName } from '../../products/redis/index.ts'
import { countCommands } from '../../redis/command-count.ts'
import { handSingly } from '../../redis/handing.ts'
import { openRedisStage } from '../../redis/stage.ts'
import { cell, decimals, medianOf, ropeOf, verdict } from '../../report/figures.ts'
import type { Table } from '../../report/table.ts'
import { sum } from '../../statistics.ts'
import type { Result, Scenario } from '../scenario.ts'
import { nameSize, sizesOf } from '../throughput.ts'

/** By number of keys: a pace that every product can keep. */
const PACES = { 1: { count: 1, periodMs: 5 }, 1000: { count: 1, periodMs: 1_000 } } as const
const SIZES = [1, 1_000] as const
const MOST_INSIDE = new Map<number, number>([
  [1, 60],
  [1_000, 45],
])
const IN_FLIGHT = 16
/** In which the ends of the last jobs are reported, and nothing idle happens. */
const SETTLE_MS = 300
/** Before the name of a command, in the figures of a sample. */
const CALL = 'call '
/** The same, before what it ran inside the server. */
const RUN = 'run '
/** Commands rarer than this, per job, are not worth a row. */
const RARE = 0.005

const two = decimals(2)

/** How often does a job go to Redis, from its producer to its end? */
export const redisCommands: Scenario<RedisProductName> = {
  name: 'redis-commands',
  timeLimitMs: 90_000,
  mostRounds: 1,

  trials(isQuick) {
    const products = [ROPE, 'bullmq-per-key', 'bullmq-unshaped'] as const
    const sizes = isQuick ? SIZES.slice(0, 1) : SIZES
    return sizes.flatMap((keys) =>
      products.map((product) => ({ product, pace: PACES[keys], keys, jobs: keys === 1 ? 1_000 : 5_000 })),
    )
  },

  async measure({ product, pace, keys, jobs }, socket) {
    const commands = await countCommands(socket)
    const setup = { socket, pace, keys: keysNamed('key', keys) }
    const stage = await openRedisStage(await loadRedisProduct(product), setup)
    await handSingly(stage.producer, setup.keys, keys, IN_FLIGHT)
    await stage.started(keys)
    await sleep(SETTLE_MS + pace.periodMs)
    commands.reset()
    await handSingly(stage.producer, setup.keys, jobs, IN_FLIGHT)
    await stage.started(keys + jobs)
    await sleep(SETTLE_MS)
    const { sent, inside } = commands.tally()
    return {
      figures: {
        sent: sum([...sent.values()].map((count) => count.sent)) / jobs,
        inside: inside / jobs,
        ...Object.fromEntries([...sent].map(([name, count]) => [CALL + name, count.sent / jobs])),
        ...Object.fromEntries([...sent].map(([name, count]) => [RUN + name, count.inside / jobs])),
      },
    }
  },

  tables(results) {
    return sizesOf(results).flatMap((keys) => {
      const measured = results.filter(({ trial }) => trial.keys === keys)
      return [totals(keys, measured), breakdown(keys, measured)]
    })
  },
}

function totals(keys: number, results: readonly Result[]): Table {
  return {
    title: `Redis, commands per job from enqueue to end, ${nameSize(keys)}`,
    columns: ['product', 'configured as', 'sent by clients', 'run inside scripts'],
    rows: results.map((result) => [
      result.name,
      result.setting,
      cell(result, 'sent', two, ropeOf(results)),
      cell(result, 'inside', two, ropeOf(results)),
    ]),
    notes: [
      verdict(
        'run inside scripts',
        medianOf(ropeOf(results), 'inside'),
        { most: MOST_INSIDE.get(keys)! },
        two,
      ),
      'Counted with MONITOR, producer and worker in one process, jobs enqueued one by one. A script counts once as sent; ' +
        'what it runs is counted beside it.',
    ],
  }
}

function breakdown(keys: number, results: readonly Result[]): Table {
  const rows = results.flatMap((result) => {
    const names = Object.keys(result.samples[0]?.figures ?? {}).filter((name) => name.startsWith(CALL))
    return names
      .map((name) => ({ name: name.slice(CALL.length), perJob: medianOf(result, name) ?? 0 }))
      .filter(({ perJob }) => perJob >= RARE)
      .sort((a, b) => b.perJob - a.perJob)
      .map(({ name, perJob }) => [result.name, name, two(perJob), two(medianOf(result, RUN + name) ?? 0)])
  })
  return {
    title: `Redis, commands sent by clients, one by one, ${nameSize(keys)}`,
    columns: ['product', 'command', 'sent per job', 'run inside per job'],
    rows,
    notes: ['Scripts of others are named by the first words of their text.'],
  }
}
