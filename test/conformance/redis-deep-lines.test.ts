import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { DEEP_VERBS, openDeepLines } from '../support/deep-verbs.ts'
import { startRedis } from '../support/redis-server.ts'
import { readsDuring } from '../support/script-reads.ts'

/** For a position up to 64 blocks are counted, each with a name and a length. */
const MOST_BLOCKS = 2 * 64

async function deepLines(length: number, other: number) {
  const server = await startRedis()
  const client = new Redis(server.url)
  onTestFinished(async () => {
    client.disconnect()
    await server.stop()
  })
  return openDeepLines(server.url, client, length, other)
}

/** Looking through a list is no command of its own: none may be long. */
async function longestList(redis: Redis, tag: string): Promise<number> {
  let longest = 0
  for await (const names of redis.scanStream({ match: `${tag}:*`, type: 'list', count: 1_000 })) {
    for (const name of names) longest = Math.max(longest, await redis.llen(name))
  }
  return longest
}

test('no verb reads more of a line of 40,000 jobs than of one of 4,000', async () => {
  const [deep, shallow] = [await deepLines(40_000, 20_000), await deepLines(4_000, 2_000)]
  const reads: Record<string, readonly [number, number]> = {}
  for (const [name, verb] of Object.entries(DEEP_VERBS)) {
    const inShallow = await readsDuring(shallow.stage.redis, () => verb(shallow))
    const inDeep = await readsDuring(deep.stage.redis, () => verb(deep))
    reads[name] = [inShallow.entries, inDeep.entries]
  }
  const growing = Object.entries(reads).filter(
    ([, [before, after]]) => after > before + MOST_BLOCKS + before / 10,
  )
  expect(growing).toEqual([])
  // Each of 200 jobs ends with a few commands of its own.
  expect(Math.max(...Object.values(reads).map(([, after]) => after))).toBeLessThan(5_000)
  expect(await longestList(deep.stage.redis, deep.stage.tag)).toBeLessThanOrEqual(256 + 250)
  await deep.stage.balances()
})
