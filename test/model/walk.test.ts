import { expect, test } from 'vitest'
import { connect, lookAt } from '../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { followWalk } from './real/follow-walk.ts'

const WALKS = 300
const STEPS = 100

test('the scripts do what the model does, on random ways through its states', async () => {
  const connection = connect(redisAddress())
  for (let seed = 1; seed <= WALKS; seed++) {
    const walk = { seed, steps: STEPS, redis: lookAt(), connection, prefix: uniquePrefix() }
    expect(await followWalk(walk)).toBeUndefined()
  }
})
