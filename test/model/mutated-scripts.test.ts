import { expect, test } from 'vitest'
import { parseConnection } from '../../src/redis/connection/connection-input.ts'
import { atFileEnd } from '../support/at-file-end.ts'
import { connect, lookAt } from '../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { MUTANTS, type MutantName } from './mutants.ts'
import { QUOTA_MUTANTS } from './quota-mutants.ts'
import { followWalk } from './real/follow-walk.ts'
import { PatchedConnection } from './real/patched-connection.ts'
import { Route } from './real/route.ts'

/** So many ways are gone until one shows the difference. */
const MOST_WALKS = 400
const STEPS = 100

const names = Object.keys(MUTANTS) as MutantName[]
const patched = names.filter((name) => MUTANTS[name].patch !== undefined)

test.each(patched)('a script that is weaker by %s does not do what the model does', async (name) => {
  const connection = new PatchedConnection(parseConnection(redisAddress()), () => undefined)
  atFileEnd(() => connection.close())
  connection.patch = MUTANTS[name].patch
  const { route } = MUTANTS[name]
  const follow = (seed: number | Route, steps: number) =>
    followWalk({
      seed,
      hasParts: name in QUOTA_MUTANTS,
      steps,
      redis: lookAt(),
      connection,
      prefix: uniquePrefix(),
    })
  let found = route && (await follow(new Route(route), route.length))
  for (let seed = 1; route === undefined && seed <= MOST_WALKS && found === undefined; seed++) {
    found = await follow(seed, STEPS)
  }
  expect(connection.hasRun).toBe(true)
  expect(found).toContain(' in the store, after')
})

const routed = names.filter((name) => MUTANTS[name].route !== undefined)

test.each(routed)('the scripts as they are go the way that shows %s as the model does', async (name) => {
  const route = MUTANTS[name].route!
  const walk = {
    seed: new Route(route),
    steps: route.length,
    redis: lookAt(),
    connection: connect(redisAddress()),
  }
  expect(await followWalk({ ...walk, prefix: uniquePrefix() })).toBeUndefined()
})
