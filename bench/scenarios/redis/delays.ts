import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Shaper } from '../../../dist/src/index.js'
import { keysNamed } from '../../burst.ts'
import { ROPE } from '../../products/index.ts'
import type { RedisProductName } from '../../products/redis/index.ts'
import { cell, decimals, medianOf, verdict } from '../../report/figures.ts'
import { gapsOf, median } from '../../statistics.ts'
import type { Scenario } from '../scenario.ts'

const RATE = 10
const PACE = { count: 1, periodMs: 1_000 / RATE }
const BUCKETS = 10_000
const PER_CALL = 1_000
const UNFETCHED = 3_000
const CALLERS = 20
/** Longer than a producer waits for an answer. */
const SILENCE_MS = 2_500

/** Figure, what it is, and the most that is promised; milliseconds. */
const PROMISES = [
  ['error', 'an enqueue fails while Redis is silent', 2_000],
  ['known', 'another process knows a limit that was set', 1_000],
  ['held', `${BUCKETS.toLocaleString('en')} live buckets are held to it`, 1_000],
  ['handover', `longest gap when one of two workers at ${RATE}/s is closed`, 2 * PACE.periodMs + 50],
  ['turn', 'median wait for a free turn beside jobs that no worker fetches', 50],
] as const

const whole = decimals(0)

/** What the documents promise in seconds: how long errors, changes and handovers take. Tests judge only that they come. */
export const redisDelays: Scenario<RedisProductName> = {
  name: 'redis-delays',
  timeLimitMs: 120_000,
  mostRounds: 5,

  trials() {
    return [{ product: ROPE, pace: PACE, keys: BUCKETS, jobs: 0 }]
  },

  async measure(_, socket) {
    const open = async (name: string, limit: string) => {
      const shaper = new Shaper<number, void>(name, {
        limits: { '*': limit },
        connection: `unix://${socket}`,
      })
      shaper.on('error', () => undefined)
      await shaper.ready()
      return shaper
    }
    const handover = await handoverGap(open)
    const turn = await waitForTurn(open)
    const { known, held } = await changeOfLimit(open)
    return { figures: { handover, turn, known, held, error: await timeOfError(open, socket) } }
  },

  tables(results) {
    const [result] = results
    return [
      {
        title: 'Redis, delays: what is promised in seconds',
        columns: ['product', 'what', 'takes', 'at most'],
        rows: PROMISES.map(([figure, what, most]) => [
          ROPE,
          what,
          cell(result, figure, (ms) => `${whole(ms)} ms`),
          `${whole(most)} ms`,
        ]),
        notes: PROMISES.map(([figure, what, most]) =>
          verdict(what, medianOf(result, figure), { most }, (ms) => `${whole(ms)} ms`),
        ),
      },
    ]
  },
}

type Open = (name: string, limit: string) => Promise<Shaper<number, void>>

/** Closes the worker that was elected first. */
async function handoverGap(open: Open): Promise<number> {
  const starts: number[] = []
  const workers = [await open('handover', `500, ${RATE}/s`), await open('handover', `500, ${RATE}/s`)]
  for (const worker of workers) {
    worker.work(() => void starts.push(performance.now()))
    await sleep(200)
  }
  for (let job = 0; job < 6 * RATE; job++) await workers[1]!.enqueue('k', job)
  await sleep(2_000)
  await workers[0]!.close()
  while (starts.length < 6 * RATE) await sleep(50)
  await workers[1]!.close()
  return Math.max(...gapsOf(starts))
}

async function waitForTurn(open: Open): Promise<number> {
  const shaper = await open('turns', '9, 1/h')
  shaper.schedule()
  const jobs = keysNamed('jobs', UNFETCHED).map((key) => ({ key, data: 0 }))
  for (let from = 0; from < jobs.length; from += PER_CALL)
    await shaper.enqueueMany(jobs.slice(from, from + PER_CALL))
  await sleep(1_000)
  const waits: number[] = []
  for (const key of keysNamed('caller', CALLERS)) {
    const asked = performance.now()
    await shaper.acquire(key)
    waits.push(performance.now() - asked)
  }
  await shaper.close()
  return median(waits)
}

async function changeOfLimit(open: Open): Promise<{ known: number; held: number }> {
  const [operator, other] = [await open('limits', '9, 1/h'), await open('limits', '9, 1/h')]
  const jobs = keysNamed('key', BUCKETS).flatMap((key) => [0, 1].map((data) => ({ key, data })))
  for (let from = 0; from < jobs.length; from += PER_CALL)
    await operator.enqueueMany(jobs.slice(from, from + PER_CALL))
  const begun = performance.now()
  let held = 0
  const set = operator.limits.set('*', '9, 1/m').then(() => {
    held = performance.now() - begun
  })
  while (other.limits.resolve('key').limit !== '9, 1/m') await sleep(5)
  const known = performance.now() - begun
  await set
  await Promise.all([operator.close(), other.close()])
  return { known, held }
}

async function timeOfError(open: Open, socket: string): Promise<number> {
  const shaper = await open('error', '9, 1/h')
  const redis = new Redis(socket)
  await redis.call('CLIENT', 'PAUSE', SILENCE_MS, 'ALL')
  const asked = performance.now()
  const answer = await shaper.enqueue('k', 0).catch((error: unknown) => error)
  const took = performance.now() - asked
  if (!(answer instanceof Error)) throw new Error('expected an error while Redis is silent, got an answer')
  await sleep(SILENCE_MS - took)
  redis.disconnect()
  await shaper.close()
  return took
}
