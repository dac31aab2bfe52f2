import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { atFileEnd } from './at-file-end.ts'
import { type RedisCluster, startCluster as startClusterOfOurs } from './redis-cluster.ts'
import { RedisProcess, type RedisSettings } from './redis-process.ts'

export type { RedisCluster } from './redis-cluster.ts'
export { RedisProcess, type RedisSettings } from './redis-process.ts'

// When vitest itself was killed, this process would run its test to the end, and its servers with it.
process.once('disconnect', () => void RedisProcess.stopAll())

/** Of the one Redis that all tests share: for `new Redis(...)` and the option `connection`. */
export function redisAddress(): string {
  return inject('redisAddress')
}

const prefixes = new Set<string>()

/** Keeps the keys of a test file apart from those of others at the shared Redis. */
export function uniquePrefix(): string {
  const prefix = `t${randomBytes(6).toString('hex')}`
  prefixes.add(prefix)
  return prefix
}

/** Those that were given out since this was called last. */
export function takePrefixes(): ReadonlySet<string> {
  const taken = new Set(prefixes)
  prefixes.clear()
  return taken
}

/** A server for tests that stop, fill or configure it; gone at the end of the test file at the latest. */
export function startRedis(settings?: RedisSettings): Promise<RedisProcess> {
  // Also when a test fails before it stops its own.
  atFileEnd(() => RedisProcess.stopAll())
  return RedisProcess.start(settings)
}

/** Three masters of our own; gone at the end of the test file at the latest. */
export function startCluster(): Promise<RedisCluster> {
  atFileEnd(() => RedisProcess.stopAll())
  return startClusterOfOurs()
}
