import type { TestProject } from 'vitest/node'
import { ensureProgram, isOnPath } from './programs.ts'
import { RedisProcess } from './redis-process.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    redisAddress: string
  }
}

/** Once for each run: the Redis of the tests is REDIS_URL, or a private server on a unix socket. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Tests also start servers of their own, so the program is needed in any case.
  ensureProgram({
    debianPackage: 'redis-server',
    wants: 'Redis 7 or newer',
    advice: 'install redis-server and redis-tools',
    isThere: () => isOnPath('redis-server'),
  })
  const url = process.env['REDIS_URL'] || (await RedisProcess.start()).url
  project.provide('redisAddress', url)
  return () => RedisProcess.stopAll()
}
