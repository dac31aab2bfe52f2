import { type Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import { MILLISECOND } from '../../core/duration.ts'
import type { Origin } from './connection-input.ts'
import { retryDelay } from './retry-delay.ts'

/** The use of a client, which decides how it behaves while Redis is away. */
export type Profile = 'commands' | 'transport' | 'blocking'

export type Client = Redis | Cluster

/** Makes a client for `profile`; its origin stays as it is. */
export function makeClient(origin: Origin, profile: Profile): Client {
  switch (origin.kind) {
    case 'options':
      return new Redis({ ...origin.options, ...PROFILES[profile] })
    case 'redis':
      return origin.client.duplicate(PROFILES[profile])
    case 'cluster':
      return duplicateCluster(origin.client, profile)
  }
}

/** Whatever the settings of the user's client: replies have the same shapes, and connections come back by themselves. */
const COMMON = {
  lazyConnect: false,
  enableReadyCheck: true,
  connectTimeout: 2_000,
  // How long a socket that this side closed may stay half open.
  disconnectTimeout: 500,
  keepAlive: 5_000,
  retryStrategy: (failures: number) => retryDelay(failures) / MILLISECOND,
  // After a failover behind one address; 1: the command is not sent again.
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 1 : false),
  monitor: false,
  readOnly: false,
  replyMapping: 'legacy',
  scripts: undefined,
  // It would drop commands that may have run, and send others twice.
  socketTimeout: undefined,
  stringNumbers: false,
} as const satisfies RedisOptions

/** Fails fast, and never sends a command twice. */
const NEVER_TWICE = {
  autoResendUnfulfilledCommands: false,
  enableAutoPipelining: false,
  maxRetriesPerRequest: 0,
} as const satisfies RedisOptions

const PROFILES = {
  commands: {
    ...COMMON,
    ...NEVER_TWICE,
    // The caller bounds the time of a command: a timer of the client would count a blocked event loop as well.
    commandTimeout: undefined,
    enableOfflineQueue: false,
  },
  /** As BullMQ requires: waits for Redis as long as it takes; a command may run twice. */
  transport: {
    ...COMMON,
    autoResendUnfulfilledCommands: true,
    commandTimeout: undefined,
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
  },
  /**
   * A command waits for a connection that is being made, and fails with it. A server that is silent for 1.5 s
   * beyond the command's own limit counts as the end of that limit.
   */
  blocking: {
    ...COMMON,
    ...NEVER_TWICE,
    blockingTimeout: 60_000,
    blockingTimeoutGrace: 1_500,
    commandTimeout: undefined,
    enableOfflineQueue: true,
  },
} as const satisfies Record<Profile, RedisOptions>

/**
 * A slot that is moved refuses commands for as long as the move takes: a command fails with that within 0.3 s, before its time
 * is over. Enough for a slot that has moved (MOVED) or is moving (ASK).
 */
const REFUSED_SOON = { maxRedirections: 6, retryDelayOnTryAgain: 50 } as const satisfies ClusterOptions

function duplicateCluster(client: Cluster, profile: Profile): Cluster {
  // Clusters take these at their top, and ignore or misread them among the options of their nodes.
  const { enableOfflineQueue, lazyConnect, readOnly, retryStrategy, scripts, ...ofNodes } = PROFILES[profile]
  const options: ClusterOptions = {
    enableOfflineQueue,
    lazyConnect,
    scripts,
    clusterRetryStrategy: retryStrategy,
    scaleReads: 'master',
    redisOptions: ofNodes,
    // Redirected commands did not run; those whose connection broke may have, and go out again when this is not 0.
    retryDelayOnFailover: profile === 'transport' ? 100 : 0,
    ...(profile !== 'transport' && { enableAutoPipelining: false, ...REFUSED_SOON }),
  }
  return client.duplicate([], options)
}
