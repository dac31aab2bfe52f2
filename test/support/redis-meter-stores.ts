import { RedisMeterStore, type RedisMeterStoreOptions } from '../../src/meter/redis-meter-store.ts'
import type { OpenedMeterStore } from './meter-drivers.ts'
import { lookAt } from './redis-driver.ts'
import { redisAddress, uniquePrefix } from './redis-server.ts'

/** On the Redis that all tests share, with keys of its own. */
export async function openRedisMeterStore(
  options: Partial<RedisMeterStoreOptions> = {},
): Promise<RedisMeterStore> {
  return new RedisMeterStore({ name: 'test', prefix: uniquePrefix(), connection: redisAddress(), ...options })
}

/** What the script adds to an expiry where a time was passed in, less what a test may take in real time. */
const SLACK_MS = 60_000 - 10_000

/** Its keys expire by the clock of Redis; what has less left than the time that is said to go by is deleted. */
export async function openPassingRedisMeterStore(): Promise<OpenedMeterStore> {
  const prefix = uniquePrefix()
  const redis = lookAt()
  const pass = async (_now: number, after: number) => {
    for (const key of await redis.keys(`*${prefix}*`)) {
      const left = (await redis.pttl(key)) - after / 1_000
      if (left <= SLACK_MS) await redis.del(key)
      else await redis.pexpire(key, Math.round(left))
    }
  }
  return { store: await openRedisMeterStore({ prefix }), pass }
}
