import { SimRedis } from './store/sim-redis.ts'
import type { Store, StoreHost } from './world/server.ts'

/** The store that the runs use. */
export function openStore(host: StoreHost): Store {
  return new SimRedis(host) as Store
}
