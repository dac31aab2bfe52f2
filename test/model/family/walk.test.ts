import { expect, test } from 'vitest'
import { connect, lookAt } from '../../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../../support/redis-server.ts'
import { followFamilyWalk } from './real/follow-walk.ts'

const WALKS = 200
const STEPS = 100

test('the scripts do what the model of a family does, on random ways through its states', async () => {
  const connection = connect(redisAddress())
  for (let seed = 1; seed <= WALKS; seed++) {
    const walk = { seed, steps: STEPS, redis: lookAt(), connection, prefix: uniquePrefix() }
    expect(await followFamilyWalk(walk)).toBeUndefined()
  }
})
