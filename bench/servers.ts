import { postgresVersion, startPostgres } from './postgres/server.ts'
import { redisVersion, startRedis } from './redis/server.ts'

/** A dedicated server, without other data in it. */
export interface Server {
  readonly address: string
  stop(): Promise<void>
}

interface ServerProgram {
  /** Such as `redis-server 7.0.15`. @throws when there is none, with what to do about it */
  version(): string
  start(): Promise<Server>
}

export const SERVERS = {
  redis: { version: redisVersion, start: startRedis },
  postgres: { version: postgresVersion, start: startPostgres },
} as const satisfies Readonly<Record<string, ServerProgram>>

export type ServerName = keyof typeof SERVERS
