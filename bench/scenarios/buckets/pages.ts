import { setTimeout as sleep } from 'node:timers/promises'
import { type BucketQuery, Shaper } from '../../../dist/src/index.js'
import { type Pulse, startPulse } from '../../buckets/pulse-process.ts'
import { ScriptTimes } from '../../buckets/script-times.ts'
import { ROPE } from '../../products/index.ts'
import type { RedisProductName } from '../../products/redis/index.ts'
import { RedisInfo } from '../../redis/info.ts'
import { cell, decimals, medianOf, verdict } from '../../report/figures.ts'
import { quantile } from '../../statistics.ts'
import type { Result, Scenario } from '../scenario.ts'

const SIZE = 1_000_000
const QUICK_SIZE = 50_000
const PULSE = 100
const PER_CALL = 1_000
const CAPACITY = 100
const FAMILIES = [
  'message_send',
  'email',
  'push',
  'webhook',
  'sync',
  'report',
  'invoice',
  'search',
  'thumbnail',
  'backup',
]
/** A query that takes less is asked again and again for so long, and one that takes longer once. */
const ASKED_FOR_MS = 8_000
const ASKED_EACH_MS = 50
const WARM_UP = 20
const REST_MS = 2_000

const SEED: BucketQuery = { prefix: 'message_send', minFill: 0.5 }

/** What is asked; the second page of a query is asked for with the cursor of the first. */
const QUERIES: readonly { name: string; query: BucketQuery; isSecond?: true }[] = [
  { name: 'the fullest', query: {} },
  { name: 'the fullest, page 2', query: {}, isSecond: true },
  { name: 'the emptiest', query: { sort: 'fill' } },
  { name: '`message_send*`, at least half full', query: SEED },
  { name: 'the same, page 2', query: SEED, isSecond: true },
  { name: 'a prefix that nobody has', query: { prefix: 'nobody' } },
  { name: 'a rule', query: { pattern: 'email' } },
  { name: 'sorted by key', query: { sort: 'key' } },
  { name: 'sorted by oldest wait', query: { sort: '-oldestWaitMs' } },
]
const ALONE = 'nobody asks'

const one = decimals(1)
const whole = decimals(0)

/** What pages of live buckets cost Redis, and what those cost whose jobs depart meanwhile. */
export const bucketPages: Scenario<RedisProductName> = {
  name: 'buckets',
  timeLimitMs: 1_200_000,
  mostRounds: 1,

  trials(isQuick) {
    const keys = isQuick ? QUICK_SIZE : SIZE
    return [{ product: ROPE, pace: { count: 1, periodMs: 3_600_000 }, keys, jobs: keys }]
  },

  async measure({ keys }, socket) {
    const info = new RedisInfo(socket)
    const shaper = new Shaper('bench', {
      limits: { '*': `${CAPACITY}, 1/h`, email: `${CAPACITY}, 1/h` },
      connection: `unix://${socket}`,
    })
    await shaper.ready()
    const empty = await info.usedMemory()
    await fillBuckets(shaper, keys)
    const figures: Record<string, number> = { bytesPerBucket: ((await info.usedMemory()) - empty) / keys }
    const pulse = await startPulse({ socket, perSecond: PULSE })
    for (let n = 0; n < WARM_UP; n++) await shaper.buckets(SEED)
    await sleep(REST_MS)
    const note = (name: string, late: readonly number[]) => {
      figures[`${name}: p50`] = quantile(late, 0.5)
      figures[`${name}: p99`] = quantile(late, 0.99)
      figures[`${name}: max`] = Math.max(...late)
    }
    await pulse.lateness()
    await sleep(2 * ASKED_FOR_MS)
    note(ALONE, await pulse.lateness())
    for (const { name, query, isSecond } of QUERIES) {
      const { cursor } = isSecond ? await shaper.buckets(query) : { cursor: undefined }
      const asked = { ...query, cursor }
      const times = new ScriptTimes(socket, '{vr:bench:')
      await times.begin()
      const from = performance.now()
      const page = await shaper.buckets(asked)
      figures[`${name}: wall`] = performance.now() - from
      const { calls, sum, longest } = await times.end()
      figures[`${name}: calls`] = calls
      figures[`${name}: sum`] = sum
      figures[`${name}: longest`] = longest
      figures[`${name}: total`] = page.total
      figures[`${name}: isAtLeast`] = page.isAtLeast ? 1 : 0
      note(name, await lateMeanwhile(pulse, () => shaper.buckets(asked)))
    }
    return { figures }
  },

  tables(results) {
    const [result] = results
    const sum = (name: string) => medianOf(result, `${name}: sum`)
    return [
      {
        title: `Buckets: pages of 100 out of ${whole(result!.trial.keys)} live buckets in Redis`,
        columns: [
          'asked for',
          'matches',
          'calls',
          'ms of script',
          'longest call, ms',
          'ms on the clock',
          'lateness elsewhere, p50 ms',
          'p99 ms',
          'max ms',
        ],
        rows: [ALONE, ...QUERIES.map(({ name }) => name)].map((name) => rowOf(result!, name)),
        notes: [
          verdict('ms of script of the first page by fill', sum('the fullest'), { most: 50 }, one),
          verdict('ms of script of its second page', sum('the fullest, page 2'), { most: 50 }, one),
          verdict(
            'p99 of the lateness of others, while the fullest are asked for, ms',
            medianOf(result, 'the fullest: p99'),
            { most: 5 },
            one,
          ),
          `Lateness: by how much the starts of another bucket, ${PULSE} a second, in another process over the same Redis, ` +
            'were further apart than the interval, while one client asks for the page, and 50 ms after it came asks again.',
          `A bucket takes ${whole(medianOf(result, 'bytesPerBucket') ?? Number.NaN)} bytes of Redis, with one job.`,
        ],
      },
    ]
  },
}

function rowOf(result: Result, name: string): string[] {
  const of = (figure: string, write = one) => cell(result, `${name}: ${figure}`, write)
  const late = [of('p50', decimals(2)), of('p99', decimals(2)), of('max')]
  if (name === ALONE) return [name, '-', '-', '-', '-', '-', ...late]
  const more = medianOf(result, `${name}: isAtLeast`) === 1 ? '+' : ''
  return [
    name,
    `${of('total', whole)}${more}`,
    of('calls', whole),
    of('sum'),
    of('longest'),
    of('wall', whole),
    ...late,
  ]
}

async function lateMeanwhile(pulse: Pulse, ask: () => Promise<unknown>): Promise<number[]> {
  await pulse.lateness()
  const until = performance.now() + ASKED_FOR_MS
  do {
    await ask()
    await sleep(ASKED_EACH_MS)
  } while (performance.now() < until)
  return pulse.lateness()
}

/** One job each, whose cost says how full the bucket is: as many at each hundredth. */
async function fillBuckets(shaper: Shaper, keys: number): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < keys) {
      const from = next
      next = Math.min(keys, from + PER_CALL)
      const jobs = Array.from({ length: next - from }, (_, index) => jobOf(from + index))
      const verdicts = await shaper.enqueueMany(jobs)
      if (verdicts.some(({ accepted }) => !accepted)) throw new Error('a job was rejected')
    }
  }
  await Promise.all([lane(), lane()])
}

function jobOf(number: number) {
  const family = FAMILIES[number % FAMILIES.length]!
  return { key: `${family}/acct_${number}`, data: 0, cost: 1 + (Math.floor(number / 7) % CAPACITY) }
}
