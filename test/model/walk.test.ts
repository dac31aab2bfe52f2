import { expect, test } from 'vitest'
import { connect, lookAt } from '../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { followWalk } from './real/follow-walk.ts'

const WALKS = 300
const STEPS = 100

test.each([
  ['a pace alone', false],
  ['quotas and places', true],
])(
  'the scripts do what the model does, on random ways through its states, under limits of %s',
  async (_, hasParts) => {
    const connection = connect(redisAddress())
    for (let seed = 1; seed <= WALKS; seed++) {
      const walk = { seed, hasParts, steps: STEPS, redis: lookAt(), connection, prefix: uniquePrefix() }
      expect(await followWalk(walk)).toBeUndefined()
    }
  },
)
