import { type ChainableCommander, Redis } from 'ioredis'
import { startRedis } from '../../support/redis-server.ts'
import { type BusyShard, openBusyShard } from './busy-shard.ts'
import { type SampleCall, sampleCalls } from './sample-calls.ts'
import { queueDigest, Snapshot } from './snapshot.ts'

export interface Ran {
  /** What the reply was, if it was an error. */
  readonly error: string | undefined
  readonly reply: unknown
  /** Digests of everything on the server. */
  readonly before: string
  readonly after: string
}

export interface ScriptLab {
  readonly shard: BusyShard
  readonly redis: Redis
  readonly snapshot: Snapshot
  readonly calls: readonly SampleCall[]
  /** Makes one call from the state of the snapshot, which `spoil` may change first. */
  run(call: SampleCall, spoil?: (pipeline: ChainableCommander) => void): Promise<Ran>
  close(): Promise<void>
}

/** A server of its own with a busy shard, on which each call finds the same state. */
export async function openScriptLab(): Promise<ScriptLab> {
  const server = await startRedis()
  const redis = new Redis(server.url)
  const shard = await openBusyShard(server.url, redis)
  const snapshot = await Snapshot.take(redis)
  const calls = await sampleCalls(shard, redis, snapshot)
  return {
    shard,
    redis,
    snapshot,
    calls,
    run: async ({ sha, keys, values }, spoil) => {
      const pipeline = snapshot.queue(redis.pipeline())
      spoil?.(pipeline)
      queueDigest(pipeline).evalsha(sha, keys.length, ...keys, ...values)
      const replies = (await queueDigest(pipeline).exec())!
      const [[, before], [error, reply], [, after]] = replies.slice(-3) as [
        [null, string],
        [Error | null, unknown],
        [null, string],
      ]
      return { error: error?.message, reply, before, after }
    },
    close: async () => {
      await shard.close()
      redis.disconnect()
      await server.stop()
    },
  }
}
