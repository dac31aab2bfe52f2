import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../support/redis-server.ts'
import { exponentOf } from './exponent.ts'
import { type Grow, measureGrowth, tableOf } from './growth.ts'
import { growBuckets, growLine, SHORTEST_LINE } from './subjects.ts'
import { EntryCounter } from './work.ts'

/** The logarithm grows less: from a thousand to a million it doubles. */
const MOST = 0.3

// `npm run test:bounds` sets it: then the sizes are those of the record, or up to BOUNDS_MOST, and the time of Redis is judged, too.
const isLong = process.env['BOUNDS'] === 'long'
const most = Number(process.env['BOUNDS_MOST'] ?? 1_000_000)

const DIMENSIONS: readonly (readonly [what: string, grow: Grow, sizes: readonly number[]])[] = [
  [
    'jobs in a line',
    growLine,
    isLong ? [SHORTEST_LINE, 10_000, 100_000, 1_000_000] : [SHORTEST_LINE, 10_000, 30_000],
  ],
  ['buckets', growBuckets, isLong ? [100, 1_000, 10_000, 100_000, 1_000_000] : [1_000, 2_000, 4_000]],
]

test.each(DIMENSIONS)(
  'no script does more the more %s there are',
  { timeout: 0 },
  async (what, grow, allSizes) => {
    const sizes = allSizes.filter((size) => size <= most)
    const growths = await measureGrowth(grow, { sizes, tries: isLong ? 7 : 0 })
    const missing = growths.filter(({ entries }) => entries.length < sizes.length).map(({ verb }) => verb)
    expect(missing, 'scripts that no subject calls').toEqual([])
    const growing = growths.filter(
      ({ exponents }) => exponents.entries > MOST || (isLong && exponents.us > MOST),
    )
    if (isLong) console.log(`${what}\n${tableOf(growths)}`)
    expect(growing.map(({ verb, entries, us }) => ({ verb, entries, us }))).toEqual([])
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
  const server = await startRedis()
  const redis = new Redis(server.url)
  const sha = String(await redis.script('LOAD', text))
  const counter = await EntryCounter.open(redis, new Map([['planted', { sha }]]))
  onTestFinished(() => {
    counter.close()
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
  expect(exponentOf(measured)).toBeGreaterThan(0.9)
})

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
