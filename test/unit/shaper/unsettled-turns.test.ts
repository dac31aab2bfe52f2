import { expect, test } from 'vitest'
import { Stage } from '../../support/stage.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

async function turnOf(stage: Stage): Promise<void> {
  const turn = stage.shaper.acquire('a', { costs: { tokens: 60 } })
  await stage.pass(0)
  await turn
}

test('a turn may be settled after it came, so that times are estimates as long as it counts', async () => {
  const limit = '20, 10/s, 100 tokens/minute 1 each, 100 tokens per day in UTC 1 each'
  const stage = new Stage(limit.slice(0, limit.lastIndexOf(',')))
  await turnOf(stage)
  await stage.pass(30 * SECOND)
  stage.shaper.work(() => 0)
  await stage.shaper.enqueue('a', 0, { costs: { tokens: 40 } })
  await stage.pass(0)
  const estimate = async () => {
    const { isEstimate = false } = await stage.shaper.forecast('a', { costs: { tokens: 90 } })
    return isEstimate
  }
  expect(await estimate()).toBe(true)
  await stage.pass(31 * SECOND)
  // What was a job counts, and has ended.
  expect(await estimate()).toBe(false)
  const calendar = new Stage(limit)
  await turnOf(calendar)
  await calendar.pass(MINUTE + SECOND)
  expect(await calendar.shaper.forecast('a', { costs: { tokens: 90 } })).toMatchObject({
    isEstimate: true,
  })
})
