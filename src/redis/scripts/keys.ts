import { hash } from 'node:crypto'
import { firstSegment } from '../../core/key.ts'

/**
 * All names of keys in Redis. The keys of a shard begin with its hash tag, so that they are on one node of a cluster and one
 * script can use them all.
 *
 * | key (after the tag) | type   | holds                                                                           |
 * |---------------------|--------|---------------------------------------------------------------------------------|
 * | :meta               | hash   | counters, the elected scheduler, the run of the server, number of shards       |
 * | :buckets            | hash   | user key -> packed bucket; only buckets that hold something or must remember    |
 * | :quotas             | hash   | user key -> what the quotas of its limit count; only where it has some          |
 * | :totals              | hash   | path of a total -> packed bucket of the total, and the queue of those that share it |
 * | :later:N             | zset   | child of total number N -> when its own limits let it go; a child is a user key or a path |
 * | :ready:N             | zset   | the same of those that may go -> tag: the lowest goes next                     |
 * | :callers:N           | zset   | those of them at whose heads a turn waits, or below which one does             |
 * | :past                | hash   | user key -> limit and what its quotas counted, of a bucket that was forgotten   |
 * | :pastends            | zset   | user key -> when that ended, by a clock that is never set forward               |
 * | :zones               | hash   | time zone -> when its clocks are set; only zones of limits; see zone-tables.ts  |
 * | :jobs               | hash   | id -> packed job: its request and its verdict                                   |
 * | :data               | hash   | id -> large data, which are not in the packed job                               |
 * | :states             | hash   | id -> packed state; none while a job waits for the first time                   |
 * | :due                | zset   | user key -> slot of the head of its line; only buckets with work to hand over   |
 * | :turns              | zset   | the same for buckets at whose head a turn waits                                 |
 * | :idle               | zset   | user key -> when the empty bucket may be forgotten                              |
 * | :fill               | zset   | user key -> how full the bucket is; every live bucket, to find the fullest      |
 * | :deadlines          | zset   | id -> when a waiting job expires                                                |
 * | :leases             | zset   | id -> when a job counts as lost, minus what all leases were extended by          |
 * | :ended              | zset   | id -> when the job ended, with all that the clock was set back by before        |
 * | :shares             | zset   | first segment -> units that its ended jobs take                                 |
 * | :aging              | zset   | first segment -> the same of the moment when its oldest ended job may go        |
 * | :gone               | zset   | the same of turns                                                               |
 * | :book               | string | the rule book as JSON                                                           |
 * | :wake               | list   | one marker, for schedulers that sleep                                           |
 * | :vacancy            | list   | one marker, for schedulers that are not elected; expires by itself              |
 * | :line:N             | list   | jobs of bucket number N, the head first: the first block of its line            |
 * | :line:N:B           | list   | block number B of its line; see lib/blocks.lua                                  |
 * | :blocks:N           | zset   | numbers of the blocks that are not empty, but for the first of them             |
 * | :handed:N           | list   | jobs that were handed over and have not started, in order                       |
 * | :retry:N, :back:N   | zset   | jobs to retry: after a failure by time, otherwise by their last start           |
 * | :watched            | zset   | user key -> until when events of its bucket are recorded; expires by itself     |
 * | :verdicts:HASH      | list   | the last verdicts of a bucket that is watched, packed; expires by itself        |
 * | :starts:HASH        | list   | the same of its starts; HASH is that of the user key                            |
 * | :inbox:CALLER       | list   | turns that were handed over to the process of their caller; expires by itself   |
 * | :kept:HASH          | list   | ended jobs of a first segment, the oldest first: id, time, units, bytes         |
 * | :draft:ID           | string | pages of a rule book that is being written; expires by itself                   |
 * | :op:ID              | string | the reply to a rare write, for a call that is repeated; expires by itself       |
 *
 * The level of a meter is one string, `<prefix>:<name>:meter:{<hash of the user key>}`: levels are independent of
 * each other, so they spread over all nodes of a cluster.
 *
 * A user's key is never part of a name, only a field, a member or a value. In lists and sorted sets of jobs a member
 * is the id, and where the cost is not 1, a space and the cost.
 */
export const KEY_TYPES = {
  meta: 'hash',
  buckets: 'hash',
  quotas: 'hash',
  totals: 'hash',
  past: 'hash',
  pastends: 'zset',
  zones: 'hash',
  jobs: 'hash',
  data: 'hash',
  states: 'hash',
  due: 'zset',
  turns: 'zset',
  idle: 'zset',
  fill: 'zset',
  deadlines: 'zset',
  leases: 'zset',
  ended: 'zset',
  shares: 'zset',
  aging: 'zset',
  gone: 'zset',
  book: 'string',
  wake: 'list',
  vacancy: 'list',
  watched: 'zset',
} as const

/** Followed by the number of the bucket, its hash, the id of the operation, or the name of the caller's process. */
export const NUMBERED_KEYS = [
  'line',
  'blocks',
  'handed',
  'retry',
  'back',
  'op',
  'draft',
  'inbox',
  'verdicts',
  'starts',
  'kept',
  'later',
  'ready',
  'callers',
] as const

/** The name and the hash tag of one shard; every script gets it as its first key. */
export function shardTag(prefix: string, name: string, shard: number): string {
  return `{${prefix}:${encodeName(name)}:${shard}}`
}

/** The tags of all shards of a shaper. */
export function shardTags(prefix: string, name: string, shards: number): string[] {
  return Array.from({ length: shards }, (_, shard) => shardTag(prefix, name, shard))
}

/**
 * The shard of a key: by its first segment, so that a family of keys lives together. FNV-1a over the bytes, 32 bits;
 * it must never change, or a key would be looked for where it is not.
 */
export function shardOf(key: string, shards: number): number {
  if (shards === 1) return 0
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(firstSegment(key))) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  }
  return hash % shards
}

export function shardKey(tag: string, name: keyof typeof KEY_TYPES): string {
  return `${tag}:${name}`
}

/** The list in which a process finds the turns that were handed over to it. */
export function inboxKey(tag: string, caller: string): string {
  return `${tag}:inbox:${caller}`
}

/** @param key of the user; two of them share a level when 128 bits of their hashes are the same: never */
export function meterKey(prefix: string, name: string, key: string): string {
  return `${prefix}:${encodeName(name)}:meter:{${hash('sha256', key, 'base64url').slice(0, HASH_DIGITS)}}`
}

/** Of six bits each. */
const HASH_DIGITS = 22

/** The shaper's name is the user's text: what is not plain is encoded, and `~` says so. */
function encodeName(name: string): string {
  return /^[A-Za-z0-9_.-]+$/.test(name) ? name : `~${Buffer.from(name).toString('base64url')}`
}
