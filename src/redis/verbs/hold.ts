import { NoLimitError, ShardCountError } from '../../core/errors.ts'
import { type FullMemory, fullMemory } from '../connection/full-memory.ts'
import { agreed } from '../rules/agreed.ts'
import { ruledBy, ruleValues } from '../rules/book.ts'
import type { RedisRules } from '../rules/redis-rules.ts'
import { flag, list, number, oneOf } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import { operationName, type Store } from '../scripts/store.ts'

const reply = list(
  oneOf({
    ok: { at: number, until: number, departsAt: number, isLifted: flag },
    'old-book': { version: number },
    shards: { shards: number },
    'no-limit': {},
    'no-room': {},
  }),
)
const script = defineScript('hold', import.meta.url, reply)

export interface Holding {
  /** The moment at which it was done. */
  readonly at: number
  /** When the longest freeze of the bucket ends. */
  readonly until: number
  /** The slot of a job that was granted it before and starts all the same; 0 when there is none. */
  readonly departsAt: number
  /** A freeze was lifted. */
  readonly isLifted: boolean
}

/**
 * Stops the departures of a bucket, and lets them go on: `freeze` for a duration (the longest freeze counts) until `unfreeze`,
 * `pause` until `resume`. Where the memory of Redis is nearly full, no bucket is made for it: only one that is live is held.
 *
 * @throws NoLimitError, ShardCountError, BackendUnavailableError
 */
export function holdVerbs(store: Store, rules: RedisRules, memory: FullMemory) {
  const hold = async (verb: string, key: string, duration: number, now?: number): Promise<Holding> => {
    const shard = store.shardOf(key)
    const operation = operationName()
    const { found } = await agreed(rules, shard, (book) => {
      const { rule, totals } = ruledBy(book, key) ?? {}
      const given = [operation, verb, key, duration, memory.isFull ? '0' : '1', rules.version, store.shards]
      return store.write(script, shard, [...given, ...ruleValues(rule, totals)], now)
    })
    if (found.kind === 'no-limit') throw new NoLimitError(key)
    if (found.kind === 'no-room') throw fullMemory('no new bucket is held')
    if (found.kind === 'shards') throw new ShardCountError(found.shards, store.shards)
    const { at, until, departsAt, isLifted } = found
    return { at, until, departsAt, isLifted }
  }
  return {
    freeze: (key: string, duration: number, now?: number) => hold('freeze', key, duration, now),
    unfreeze: (key: string, now?: number) => hold('unfreeze', key, 0, now),
    pause: (key: string, now?: number) => hold('pause', key, 0, now),
    resume: (key: string, now?: number) => hold('resume', key, 0, now),
  }
}
