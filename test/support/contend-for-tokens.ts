import { expect } from 'vitest'
import type { BucketView } from '../../src/core/bucket-view.ts'
import type { Shaper } from '../../src/index.ts'

const QUOTA = 300
const LARGEST = 19

/**
 * Callers of several processes ask for turns of 1 to 19 tokens, more together than a quota of 300 an hour has: they use all of it but for
 * what is too little for the next of them, and never more.
 *
 * @param quotas those of what all of them share
 */
export async function contendForTokens(
  shapers: readonly Shaper[],
  keyOf: (caller: number) => string,
  quotas: () => Promise<BucketView['quotas']>,
): Promise<void> {
  const sizes = Array.from({ length: 60 }, (_, n) => 1 + ((n * 7) % LARGEST))
  const abort = new AbortController()
  let used = 0
  const turns = sizes.map(async (tokens, n) => {
    await shapers[n % shapers.length]!.acquire(keyOf(n), { costs: { tokens }, signal: abort.signal })
    used += tokens
  })
  const counted = async () => (await quotas())?.[0]?.used
  await expect.poll(counted).toBeGreaterThan(QUOTA - LARGEST)
  await expect.poll(async () => used === (await counted())).toBe(true)
  expect(used).toBeLessThanOrEqual(QUOTA)
  abort.abort(new Error('enough'))
  const ends = await Promise.allSettled(turns)
  expect(used).toBeLessThanOrEqual(QUOTA)
  expect(ends.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(20)
}
