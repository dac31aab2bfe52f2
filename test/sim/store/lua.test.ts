import fc from 'fast-check'
import { expect, test } from 'vitest'
import { randomReply, randomScript } from './random-lua.ts'
import { RealAndOurs } from './real-and-ours.ts'
import type { RawReply } from './reply-reader.ts'
import { storeRuns } from './runs.ts'

/**
 * Ours does not count the arguments of a library function, and takes one that is nil for none. JavaScript has only one NaN, so
 * its sign is lost.
 */
function withoutCounts(replies: readonly RawReply[]): string {
  return JSON.stringify(replies)
    .replace(/got (nil|no value)/g, 'got nothing')
    .replace(/-nan/g, 'nan')
}

test('random scripts do what a real Redis does with them', async () => {
  const both = await RealAndOurs.start()
  await fc.assert(
    fc.asyncProperty(fc.oneof(randomScript, randomReply), async (script) => {
      const { real, ours } = await both.answers([['EVAL', script, 0]])
      expect(withoutCounts(ours)).toEqual(withoutCounts(real))
    }),
    storeRuns(4_000),
  )
})
