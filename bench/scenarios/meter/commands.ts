import { setTimeout as sleep } from 'node:timers/promises'
import { keysNamed } from '../../burst.ts'
import { askAll } from '../../meter/asking.ts'
import { walBytesOf } from '../../postgres/wal.ts'
import { loadMeter, type MeterProductName, meterServer } from '../../products/meter/index.ts'
import { countCommands } from '../../redis/command-count.ts'
import { decimals } from '../../report/figures.ts'
import { sum } from '../../statistics.ts'
import type { Sample, Scenario, Trial } from '../scenario.ts'
import { ACCEPTING, REFUSING, rowsOf } from './rows.ts'

const ON_REDIS: readonly MeterProductName[] = [
  'rope-on-redis',
  'flexible-on-redis',
  'flexible-on-redis-blocking',
]
const ON_POSTGRES: readonly MeterProductName[] = [
  'rope-on-postgres',
  'flexible-on-postgres',
  'flexible-on-postgres-blocking',
]
const ASKS = 1_000
const KEYS = 10
const AT_MOST_MS = 20_000
/** In which what was sent has been counted. */
const SETTLE_MS = 300

const two = decimals(2)
const whole = decimals(0)

/** What does one answer cost the store? */
export const meterCommands: Scenario<MeterProductName> = {
  name: 'meter-commands',
  timeLimitMs: 60_000,
  mostRounds: 1,

  trials: () =>
    [ACCEPTING, REFUSING].flatMap((pace) =>
      [...ON_REDIS, ...ON_POSTGRES].map((product) => ({ product, pace, keys: KEYS, jobs: ASKS })),
    ),

  measure: (trial, address) =>
    meterServer(trial.product) === 'redis' ? onRedis(trial, address) : onPostgres(trial, address),

  tables: (results) => [
    {
      title: 'Meters on Redis: commands per answer',
      columns: [
        'product',
        'configured as',
        'sent by clients, accepted',
        'refused',
        'run inside scripts, accepted',
        'refused',
      ],
      rows: rowsOf(
        results.filter(({ trial }) => ON_REDIS.includes(trial.product as MeterProductName)),
        (cells) => [...cells('sent', two), ...cells('inside', two)],
      ),
      notes: [
        `Counted with MONITOR while ${KEYS} keys are asked in turn. A script counts once as sent; what it runs is counted beside it.`,
      ],
    },
    {
      title: 'Meters on PostgreSQL: work per answer',
      columns: [
        'product',
        'configured as',
        'statements sent, accepted',
        'refused',
        'bytes of log, accepted',
        'refused',
      ],
      rows: rowsOf(
        results.filter(({ trial }) => ON_POSTGRES.includes(trial.product as MeterProductName)),
        (cells) => [...cells('statements', two), ...cells('walBytes', whole)],
      ),
      notes: [
        'Statements are counted where the product hands them to its client: each is one round trip and one ' +
          'transaction. The bytes of the write-ahead log are those that the server has written meanwhile.',
      ],
    },
  ],
}

async function onRedis({ product, pace, keys, jobs }: Trial, address: string): Promise<Sample> {
  const commands = await countCommands(address)
  const ask = await (await loadMeter(product as MeterProductName)).open({ address, pace })
  const asking = { ask, keys: keysNamed('key', keys), lanes: 1, atMostMs: AT_MOST_MS }
  await askAll({ ...asking, asks: 2 * keys })
  await sleep(SETTLE_MS)
  commands.reset()
  const { asks } = await askAll({ ...asking, asks: jobs })
  await sleep(SETTLE_MS)
  const { sent, inside } = commands.tally()
  return {
    figures: { sent: sum([...sent.values()].map((count) => count.sent)) / asks, inside: inside / asks },
  }
}

async function onPostgres({ product, pace, keys, jobs }: Trial, address: string): Promise<Sample> {
  let statements = 0
  const onStatement = () => void statements++
  const ask = await (await loadMeter(product as MeterProductName)).open({ address, pace, onStatement })
  const asking = { ask, keys: keysNamed('key', keys), lanes: 1, atMostMs: AT_MOST_MS }
  await askAll({ ...asking, asks: 2 * keys })
  const before = await walBytesOf(address)
  statements = 0
  const { asks } = await askAll({ ...asking, asks: jobs })
  const after = await walBytesOf(address)
  return { figures: { statements: statements / asks, walBytes: (after - before) / asks } }
}
