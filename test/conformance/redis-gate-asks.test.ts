import { expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

test('jobs at the gate ask less and less often while the job before them does not start, and soon after it could have', async () => {
  const stage = await RedisStage.open('99, 500/s')
  await stage.lineUp('xyz', 0)
  const [x, y, z] = await stage.hand(0, 250)
  // The worker of `x` is dead.
  const asks: number[] = []
  for (let seconds = 0; seconds < 0.4; ) {
    const answer = await stage.gate(y!, seconds)
    if (answer.kind !== 'wait') break
    const next = (answer.until - at(0)) / SECOND
    asks.push(next - seconds)
    expect(next - seconds).toBeLessThanOrEqual(Math.max(0.001, seconds / 4) + 1e-6)
    seconds = next
  }
  expect(asks.length).toBeGreaterThan(10)
  expect(asks.length).toBeLessThan(40)
  // The next wait begins when that job has started.
  await stage.gate(x!, 0.5)
  await stage.start(x!, 0.5)
  expect(await stage.gate(z!, 0.503)).toMatchObject({ kind: 'wait', until: at(0.504) })
})
