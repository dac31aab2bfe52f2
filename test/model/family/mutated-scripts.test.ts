import { expect, test } from 'vitest'
import { parseConnection } from '../../../src/redis/connection/connection-input.ts'
import { atFileEnd } from '../../support/at-file-end.ts'
import { lookAt } from '../../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../../support/redis-server.ts'
import { PatchedConnection } from '../real/patched-connection.ts'
import { FAMILY_MUTANTS, type FamilyMutantName } from './mutants.ts'
import { followFamilyWalk } from './real/follow-walk.ts'

/** So many ways are gone until one shows the difference. */
const MOST_WALKS = 100
const STEPS = 100

const names = Object.keys(FAMILY_MUTANTS) as FamilyMutantName[]

test.each(names)(
  'a script that is weaker by %s does not do what the model of a family does',
  async (name) => {
    const connection = new PatchedConnection(parseConnection(redisAddress()), () => undefined)
    atFileEnd(() => connection.close())
    const { patch, firstWalk = 1 } = FAMILY_MUTANTS[name]
    connection.patch = patch
    let found: string | undefined
    for (let seed = firstWalk; seed < firstWalk + MOST_WALKS && found === undefined; seed++) {
      found = await followFamilyWalk({
        seed,
        steps: STEPS,
        redis: lookAt(),
        connection,
        prefix: uniquePrefix(),
      })
    }
    expect(connection.hasRun).toBe(true)
    expect(found).toContain(' in the store, below')
  },
)
