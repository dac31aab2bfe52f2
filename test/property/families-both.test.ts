import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../src/conformance/conformance.ts'
import { shardTag } from '../../src/redis/scripts/keys.ts'
import { FamilyPlay } from '../support/family-play.ts'
import { Tied } from '../support/family-ties.ts'
import { trace } from '../support/family-traces.ts'
import { memoryDriver } from '../support/memory-driver.ts'
import { redisDriver } from '../support/redis-driver.ts'
import { uniquePrefix } from '../support/redis-server.ts'

/** So many of those that are ready a claim reads at once; see AHEAD in src/redis/scripts/lib/places.lua. */
const READ_AHEAD = 16

test('below totals of many shapes both lines answer alike, and no law is broken', async () => {
  const plays: { readonly isTied: boolean; readonly starts: number; readonly mostHanded: number }[] = []
  await fc.assert(
    fc.asyncProperty(trace, async ({ steps, ...shape }) => {
      const prefix = uniquePrefix()
      const memory = await memoryDriver(shape.limits)
      const redis = await redisDriver(shape.limits, 1_000, prefix)
      const play = new FamilyPlay(memory, redis, shardTag(prefix, 'test', 0), shape)
      let isTied = false
      try {
        await play.begin()
        for (const [step, by] of steps) {
          play.now += by
          await play.step(step)
        }
      } catch (error) {
        if (!(error instanceof Tied)) throw error
        isTied = true
      } finally {
        await Promise.all([memory.close(), redis.close()])
      }
      const breaches = checkHistory(play.history, { unfinished: true })
      expect(breaches.filter(({ law }) => law !== 'L12' || !play.hasOldLeads)).toEqual([])
      plays.push({ isTied, starts: play.starts, mostHanded: play.mostHanded })
    }),
    { numRuns: 40, endOnFailure: true },
  )
  // A trace ends at its first tie.
  expect(plays.filter(({ isTied }) => !isTied).length).toBeGreaterThan(plays.length / 2)
  expect(plays.reduce((sum, { starts }) => sum + starts, 0)).toBeGreaterThan(15 * plays.length)
  expect(Math.max(...plays.map(({ mostHanded }) => mostHanded))).toBeGreaterThan(READ_AHEAD)
})
