import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../support/redis-server.ts'
import { exponentOf } from './exponent.ts'
import { type Grow, type Growth, measureGrowth, TRIES, tableOf } from './growth.ts'
import {
  growBuckets,
  growData,
  growFamily,
  growLine,
  growRules,
  growSets,
  SHORTEST_LINE,
} from './subjects.ts'
import { EntryCounter } from './work.ts'

/** The logarithm grows less: from a thousand to a million it doubles. */
const MOST = 0.3
/** Microseconds: no script takes longer, whatever the size. */
const LONGEST = 5_000

// `npm run test:bounds` sets it: then the sizes are those of the record, or up to BOUNDS_MOST, and the time of Redis is judged, too.
const isLong = process.env['BOUNDS'] === 'long'
const most = Number(process.env['BOUNDS_MOST'] ?? 1_000_000)

interface Dimension {
  readonly grow: Grow
  readonly sizes: readonly number[]
  /** What the size is of: bytes are counted, too, and these scripts carry them by their nature. */
  readonly carriers?: readonly string[]
  readonly pageBytes?: number
}

const DIMENSIONS: readonly (readonly [what: string, Dimension])[] = [
  [
    'jobs in a line',
    {
      grow: growLine,
      sizes: isLong ? [SHORTEST_LINE, 10_000, 100_000, 1_000_000] : [SHORTEST_LINE, 10_000, 30_000],
    },
  ],
  [
    'jobs in a line under quotas',
    {
      grow: growSets,
      sizes: isLong ? [SHORTEST_LINE, 10_000, 100_000, 1_000_000] : [SHORTEST_LINE, 10_000, 30_000],
    },
  ],
  [
    'buckets',
    {
      grow: growBuckets,
      sizes: isLong ? [100, 1_000, 10_000, 100_000, 1_000_000] : [1_000, 2_000, 4_000],
    },
  ],
  [
    'children of a total',
    {
      grow: growFamily,
      sizes: isLong ? [100, 1_000, 10_000, 100_000, 1_000_000] : [1_000, 2_000, 4_000],
    },
  ],
  [
    'bytes of data in each job',
    {
      grow: growData,
      sizes: isLong ? [100, 1_000, 10_000, 50_000] : [100, 4_000, 64_000],
      // To a worker, and into the view of a job.
      carriers: ['fetch', 'job'],
    },
  ],
  [
    'rules',
    {
      grow: growRules,
      sizes: isLong ? [10, 100, 1_000, 10_000, 50_000] : [10, 10_000],
      carriers: [],
      // A long rule book is read and written by pages.
      pageBytes: 65_536,
    },
  ],
]

test.each(DIMENSIONS)(
  'no script does more the more %s there are',
  { timeout: 0 },
  async (what, { grow, sizes: allSizes, carriers, pageBytes }) => {
    const sizes = allSizes.filter((size) => size <= most)
    const growths = await measureGrowth(grow, { sizes, tries: isLong ? TRIES : 0, pageBytes })
    if (isLong) console.log(`${what}\n${tableOf(growths)}`)
    const missing = growths.filter(({ entries }) => entries.length < sizes.length).map(({ verb }) => verb)
    expect(missing, 'scripts that no subject calls').toEqual([])
    const isCarrier = ({ verb }: Growth) => carriers?.includes(verb) === true
    const growing = growths.filter(
      (growth) =>
        growth.exponents.entries > MOST ||
        (carriers !== undefined && growth.exponents.bytes > MOST) ||
        (isLong && growth.exponents.us > MOST && !isCarrier(growth)),
    )
    expect(growing.filter((growth) => !isCarrier(growth))).toEqual([])
    // What is known to grow is seen to grow.
    expect(growing.map(({ verb }) => verb)).toEqual(carriers?.toSorted() ?? [])
    const slow = growths.filter(({ us }) => us.some(([, longest]) => longest > LONGEST))
    expect(slow).toEqual([])
  },
)

test.each([
  ["redis.call('ZRANGE', KEYS[1], 0, -1)", 'reads a whole set'],
  [
    "for n = 1, redis.call('ZCARD', KEYS[1]) do redis.call('ZRANGE', KEYS[1], n - 1, n - 1) end",
    'reads its members one by one',
  ],
  ["redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '+inf')", 'has no limit'],
])('a script that %s is found', async (text) => {
  expect(await growthOfScript(text)).toBeGreaterThan(0.9)
})

test.each([[0], [-1], [-5]])('a script that reads a set from index %i does not grow', async (from) => {
  expect(await growthOfScript(`redis.call('ZRANGE', KEYS[1], ${from}, ${from < 0 ? -1 : 4})`)).toBeCloseTo(0)
})

/** The exponent of what a script does with a set, by the size of the set. */
async function growthOfScript(text: string): Promise<number> {
  const server = await startRedis()
  const redis = new Redis(server.url)
  const sha = String(await redis.script('LOAD', text))
  const counter = new EntryCounter(redis, new Map([['planted', { sha }]]))
  onTestFinished(() => {
    redis.disconnect()
  })
  const measured = []
  for (const size of [100, 1_000, 10_000]) {
    for (let n = 0; n < size; n += 100) {
      await redis.zadd('set', ...Array.from({ length: 100 }, (_, index) => [index, `m${n + index}`]).flat())
    }
    const [work] = await counter.during(() => redis.evalsha(sha, 1, 'set'))
    measured.push([size, work!.cost] as const)
  }
  return exponentOf(measured)
}

test('an exponent is that of the power by which a cost grows', () => {
  const sizes = [100, 1_000, 10_000, 100_000, 1_000_000]
  const fit = (cost: (size: number) => number) => exponentOf(sizes.map((size) => [size, cost(size)] as const))
  expect(fit(() => 40)).toBeCloseTo(0)
  expect(fit((size) => 3 * size)).toBeCloseTo(1)
  expect(fit((size) => Math.sqrt(size))).toBeCloseTo(0.5)
  expect(fit((size) => Math.log2(size))).toBeLessThan(MOST / 2)
  // What is done besides does not hide it for long.
  expect(fit((size) => 200 + size / 10)).toBeGreaterThan(MOST)
})
