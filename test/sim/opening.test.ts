import { expect, test } from 'vitest'
import { openStore } from './open-store.ts'
import { drawPlan } from './plan/draw.ts'
import { runPlan } from './run-plan.ts'

const WAY_MS = 5

/** How often a producer's first request went there and back until it had its answer, with all that opens a line. */
async function roundTrips(shards: number, hasScripts: boolean): Promise<number> {
  const { hasScripts: _, ...plan } = drawPlan(30_001_115)
  expect(plan.faults).toEqual([])
  const way = { least: WAY_MS * 1_000, jitter: 0, spikes: 0, spike: 0 }
  const network = { there: way, back: way, splits: 0 }
  const { history } = await runPlan(
    { ...plan, shards, network, ...(hasScripts && { hasScripts }) },
    openStore,
  )
  const answered = history.find(({ type }) => type === 'answer')
  return answered!.at / (2 * WAY_MS * 1_000)
}

test('many shards are opened in about as many round trips as two', async () => {
  const two = await roundTrips(2, true)
  // They are asked thirty-two at a time, and their buckets changed eight at a time.
  expect(await roundTrips(8, true)).toBeLessThan(two + 1)
  expect(await roundTrips(32, true)).toBeLessThan(2 * two)
  expect(await roundTrips(256, true)).toBeLessThan(10 * two)
})

test('a shaper that opens alone, on a Redis that has no scripts yet, hears within the time that its judge allows', async () => {
  expect(await roundTrips(8, false)).toBeLessThan(26)
})
