import { keysNamed } from '../../burst.ts'
import { type Asked, type Asking, askAll } from '../../meter/asking.ts'
import { postgresSeconds } from '../../postgres/processor-time.ts'
import { assertDurable, DURABLE } from '../../postgres/wal.ts'
import { loadMeter, type MeterProductName, meterServer } from '../../products/meter/index.ts'
import { RedisInfo } from '../../redis/info.ts'
import { decimals } from '../../report/figures.ts'
import type { ServerName } from '../../servers.ts'
import type { Scenario, Trial } from '../scenario.ts'
import { nameSize, sizesOf } from '../throughput.ts'
import { ACCEPTING, REFUSING, rowsOf } from './rows.ts'

const SIZES = [1, 1_000]
const IN_FLIGHT = 64
const AT_MOST_MS = 2_000

const whole = decimals(0)

interface Store {
  readonly name: string
  readonly title: string
  readonly products: readonly MeterProductName[]
  readonly asks: { readonly quick: number; readonly full: number }
  /** Begins the columns of what the server spends. */
  readonly serverColumn?: string
  readonly notes: readonly string[]
}

export const meterMemory = speed({
  name: 'meter-memory',
  title: 'Meters in memory: answers per second, asked one after the other',
  products: ['rope-in-memory', 'flexible-in-memory', 'limiter-in-memory'],
  asks: { quick: 50_000, full: 1_000_000 },
  notes: [
    'limiter answers without a promise, and has no keys: one object for each in a Map of our own. The others answer with ' +
      'a promise, and forget keys that are not used any more.',
  ],
})

export const meterRedis = speed({
  name: 'meter-redis',
  title: 'Meters on Redis: answers per second for one process',
  products: ['rope-on-redis', 'flexible-on-redis', 'flexible-on-redis-blocking'],
  asks: { quick: 3_000, full: 60_000 },
  serverColumn: 'us of Redis, ',
  notes: [
    'us of Redis: its processor time per answer, with 64 in flight.',
    'inMemoryBlockOnConsumed: a process that was refused refuses by itself until the window ends, and asks nobody.',
  ],
})

export const meterPostgres = speed({
  name: 'meter-postgres',
  title: 'Meters on PostgreSQL: answers per second for one process',
  products: ['rope-on-postgres', 'flexible-on-postgres', 'flexible-on-postgres-blocking'],
  asks: { quick: 2_000, full: 30_000 },
  serverColumn: 'us of PostgreSQL, ',
  notes: [
    `A Pool of 10 connections over a unix socket; ${DURABLE.join(', ')} are on, as by default, so every commit waits ` +
      'for the disk, and those for one row wait for each other: the disk decides, and varies most.',
    'us of PostgreSQL: processor time of all its processes per answer, with 64 in flight.',
  ],
})

/** How many answers a second does one process get? */
function speed({ name, title, products, asks, serverColumn, notes }: Store): Scenario<MeterProductName> {
  return {
    name,
    timeLimitMs: 60_000,

    trials(isQuick) {
      const jobs = isQuick ? asks.quick : asks.full
      return SIZES.flatMap((keys) =>
        [ACCEPTING, REFUSING].flatMap((pace) => products.map((product) => ({ product, pace, keys, jobs }))),
      )
    },

    async measure(trial, address) {
      const server = meterServer(trial.product)
      if (server === 'postgres') await assertDurable(address)
      const ask = await (await loadMeter(trial.product)).open({ address, pace: trial.pace })
      const asking = { ask, keys: keysNamed('key', trial.keys), asks: trial.jobs, atMostMs: AT_MOST_MS }
      const lanes = server === undefined ? 1 : IN_FLIGHT
      await askAll({ ...asking, lanes })
      const { perSecond: oneAtATime } = await judged(trial, { ...asking, lanes: 1 })
      if (server === undefined) return { figures: { oneAtATime } }
      const seconds = secondsOf(server, address)
      const before = await seconds()
      const { perSecond: inFlight, asks } = await judged(trial, { ...asking, lanes })
      const after = await seconds()
      const isTold = before !== undefined && after !== undefined
      return {
        figures: { oneAtATime, inFlight, ...(isTold && { server: ((after - before) * 1e6) / asks }) },
      }
    },

    tables(results) {
      const figures =
        serverColumn === undefined
          ? { oneAtATime: '' }
          : { oneAtATime: 'one at a time, ', inFlight: `${IN_FLIGHT} in flight, `, server: serverColumn }
      return sizesOf(results).map((keys) => ({
        title: `${title}, ${nameSize(keys)}`,
        columns: [
          'product',
          'configured as',
          ...Object.values(figures).flatMap((column) => [`${column}accepted`, `${column}refused`]),
        ],
        rows: rowsOf(
          results.filter(({ trial }) => trial.keys === keys),
          (cells) => Object.keys(figures).flatMap((figure) => cells(figure, whole)),
        ),
        notes: [
          ...notes,
          `Shown is how they were configured to refuse all but the first of a key; to accept, ${whole(ACCEPTING.count)} in the same hour.`,
        ],
      }))
    },
  }
}

/** Reads the processor time of a server. */
function secondsOf(server: ServerName, address: string): () => Promise<number | undefined> {
  if (server === 'postgres') return () => postgresSeconds(address)
  const info = new RedisInfo(address)
  return () => info.cpuSeconds()
}

/** Answers other than those that are measured would be another figure. The first of a key may come this late. */
async function judged({ pace, keys }: Trial, asking: Asking): Promise<Asked> {
  const asked = await askAll(asking)
  const isAccepting = pace.count === ACCEPTING.count
  const wrong = isAccepting ? asked.asks - asked.accepted : asked.accepted
  if (wrong > (isAccepting ? 0 : keys))
    throw new Error(`${wrong} of ${asked.asks} answers were not as expected`)
  return asked
}
