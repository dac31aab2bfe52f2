import { parseLayer } from '../../../../src/core/layered-book.ts'
import { RedisBackend } from '../../../../src/redis/redis-backend.ts'
import { at } from '../../../support/backend-driver.ts'
import type { WalkOptions } from '../../real/follow-walk.ts'
import { limitText } from '../../real/mirror.ts'
import { FamilyMirror } from './mirror.ts'
import { FamilyWalk } from './walk.ts'

export type FamilyWalkOptions = Pick<WalkOptions, 'steps' | 'connection' | 'redis' | 'prefix'> & {
  readonly seed: number
}

/** Goes one way through the model and repeats it on the real scripts; the first difference, and the way to it. */
export async function followFamilyWalk(options: FamilyWalkOptions): Promise<string | undefined> {
  const { seed, steps, redis, connection, prefix } = options
  const walk = new FamilyWalk(seed)
  const { setup } = walk.world
  const rules = [...setup.totals, ...setup.buckets].map(
    ({ key, limit, weight }) => [key, limitText(limit, weight)] as const,
  )
  const backend = new RedisBackend({
    name: 'model',
    prefix,
    shards: 1,
    connection,
    rules: parseLayer(Object.fromEntries(rules)),
    retention: { jobs: setup.jobs.length, time: 0, most: 1_000_000 },
  })
  await connection.ready()
  await backend.open(at(0))
  const mirror = new FamilyMirror(walk.world, backend, redis, at(0))
  const done: string[] = []
  for (let count = 0; count < steps; count++) {
    const step = count === 0 ? walk.begin() : walk.next()
    done.push(step.text)
    mirror.advance(step.elapsed)
    const name = step.transition?.name ?? ''
    if (name === 'the store restarts with its data') await mirror.restart()
    if (name.startsWith('is killed'))
      mirror.replace(step.text.startsWith('worker') ? 'worker' : 'scheduler', step.way)
    const found = await mirror.follow(step.calls)
    if (found !== undefined) {
      const limits = rules.map(([key, limit]) => `${key}: ${limit}`)
      return `${setup.name}: ${found}, below\n  ${limits.join('\n  ')}\nafter\n  ${done.join('\n  ')}`
    }
  }
  return undefined
}
