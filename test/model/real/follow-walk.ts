import type { Redis } from 'ioredis'
import { parseLayer } from '../../../src/core/layered-book.ts'
import type { Connection } from '../../../src/redis/connection/connection.ts'
import { RedisBackend } from '../../../src/redis/redis-backend.ts'
import { at } from '../../support/backend-driver.ts'
import { limitText, Mirror } from './mirror.ts'
import type { Route } from './route.ts'
import { Walk } from './walk.ts'

export interface WalkOptions {
  /** Of a random walk, or a written way. */
  readonly seed: number | Route
  /** Random limits have quotas and places. */
  readonly hasParts?: boolean
  readonly steps: number
  readonly connection: Connection
  /** Looks at what the scripts have made. */
  readonly redis: Redis
  /** That no other walk has. */
  readonly prefix: string
}

/** Goes one way through the model and repeats it on the real scripts; the first difference, and the way to it. */
export async function followWalk(options: WalkOptions): Promise<string | undefined> {
  const { seed, hasParts, steps, redis, connection, prefix } = options
  const walk = typeof seed === 'number' ? new Walk(seed, hasParts) : seed
  const { limits, keep } = walk.world.setup
  const open = async () => {
    const rules = parseLayer({ '*': limitText(limits[0]!) })
    const backend = new RedisBackend({
      name: 'model',
      prefix,
      shards: 1,
      connection,
      rules,
      retention: { jobs: keep, time: 0, most: 1_000_000 },
    })
    await backend.open(at(0))
    return backend
  }
  await connection.ready()
  const mirror = new Mirror(walk.world, [await open(), await open()], redis, at(0))
  const done: string[] = []
  for (let count = 0; count < steps; count++) {
    const step = count === 0 ? walk.begin() : walk.next()
    done.push(step.text)
    mirror.advance(step.elapsed)
    if (step.transition.name === 'the store restarts with its data') await mirror.restart()
    if (step.transition.name.startsWith('is killed')) mirror.replace(killed(step.text), step.way)
    const found = await mirror.follow(step.calls)
    if (found !== undefined) return `${walk.world.setup.name}: ${found}, after\n  ${done.join('\n  ')}`
    if (mirror.isOver) break
  }
  return undefined
}

const killed = (text: string) => (text.startsWith('worker') ? 'workers' : 'schedulers')
