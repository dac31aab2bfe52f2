import { expect, test } from 'vitest'
import { parseConnection } from '../../src/redis/connection/connection-input.ts'
import { atFileEnd } from '../support/at-file-end.ts'
import { lookAt } from '../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { MUTANTS, type MutantName } from './mutants.ts'
import { followWalk } from './real/follow-walk.ts'
import { PatchedConnection } from './real/patched-connection.ts'

/** So many ways are gone until one shows the difference. */
const MOST_WALKS = 400
const STEPS = 100

const patched = (Object.keys(MUTANTS) as MutantName[]).filter((name) => MUTANTS[name].patch !== undefined)

test.each(patched)('a script that is weaker by %s does not do what the model does', async (name) => {
  const connection = new PatchedConnection(parseConnection(redisAddress()), () => undefined)
  atFileEnd(() => connection.close())
  connection.patch = MUTANTS[name].patch
  let found: string | undefined
  for (let seed = 1; seed <= MOST_WALKS && found === undefined; seed++) {
    found = await followWalk({ seed, steps: STEPS, redis: lookAt(), connection, prefix: uniquePrefix() })
  }
  expect(connection.hasRun).toBe(true)
  expect(found).toContain(' in the store, after')
})
