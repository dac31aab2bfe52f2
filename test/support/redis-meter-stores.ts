import { RedisMeterStore, type RedisMeterStoreOptions } from '../../src/meter/redis-meter-store.ts'
import { redisAddress, uniquePrefix } from './redis-server.ts'

/** On the Redis that all tests share, with keys of its own. */
export async function openRedisMeterStore(
  options: Partial<RedisMeterStoreOptions> = {},
): Promise<RedisMeterStore> {
  return new RedisMeterStore({ name: 'test', prefix: uniquePrefix(), connection: redisAddress(), ...options })
}
