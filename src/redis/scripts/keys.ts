import { hash } from 'node:crypto'

/**
 * Every name of a key in Redis. All keys of a shard begin with its hash tag, so that they live on one node of a
 * cluster, and one script may touch them all.
 *
 * | key (after the tag) | type   | holds                                                                           |
 * |---------------------|--------|---------------------------------------------------------------------------------|
 * | :meta               | hash   | counters, the elected scheduler, the run of the server, number of shards       |
 * | :buckets            | hash   | user key -> packed bucket; only buckets that hold something or must remember    |
 * | :jobs               | hash   | id -> packed job: what its producer said, and was told                          |
 * | :data               | hash   | id -> data of more than 4 KiB, which do not stand in the packed job             |
 * | :states             | hash   | id -> packed state; none while a job waits for the first time                   |
 * | :due                | zset   | user key -> slot of the head of its line; only buckets with work to hand over   |
 * | :turns              | zset   | the same of buckets at whose head a caller waits for his turn                   |
 * | :idle               | zset   | user key -> when the empty bucket may be forgotten                              |
 * | :fill               | zset   | user key -> how full the bucket is; every live bucket, to find the fullest      |
 * | :deadlines          | zset   | id -> when a waiting job expires                                                |
 * | :leases             | zset   | id -> when a job is given up for lost, less what all leases were lifted by       |
 * | :ended              | zset   | id -> when the job ended                                                        |
 * | :gone               | zset   | id -> when the turn ended                                                       |
 * | :book               | string | the rule book as JSON                                                           |
 * | :wake               | list   | one marker, for schedulers that sleep                                           |
 * | :vacancy            | list   | one marker, for schedulers that are not elected; expires by itself              |
 * | :line:N             | list   | jobs of bucket number N, the head first: the first block of its line            |
 * | :line:N:B           | list   | block number B of its line; a block holds 256 jobs                              |
 * | :blocks:N           | zset   | numbers of the blocks that are not empty, but for the first of them             |
 * | :handed:N           | list   | those that were handed over and have not started, in their order                |
 * | :retry:N, :back:N   | zset   | those to be tried again: after a failure by time, else by their last start      |
 * | :watched            | zset   | user key -> until when what happens to its bucket is noted; expires by itself   |
 * | :verdicts:HASH      | list   | the last verdicts of a bucket that is watched, packed; expires by itself        |
 * | :starts:HASH        | list   | the same of its starts; HASH is that of the user key                            |
 * | :inbox:CALLER       | list   | turns that were handed over to the process of their caller; expires by itself   |
 * | :op:ID              | string | the answer to a rare write, so that it is answered again; expires by itself     |
 *
 * The level of a meter is one string, `<prefix>:<name>:meter:{<hash of the user key>}`: levels have nothing to do with each
 * other, so they spread over all of a cluster.
 *
 * A user's key is never part of a name, only a field, a member or a value. In lists and sorted sets of jobs a member
 * is the id, and where the cost is not 1, a space and the cost.
 */
export const KEY_TYPES = {
  meta: 'hash',
  buckets: 'hash',
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
  'inbox',
  'verdicts',
  'starts',
] as const

/** The name and the hash tag of one shard; every script gets it as its first key. */
export function shardTag(prefix: string, name: string, shard: number): string {
  return `{${prefix}:${encodeName(name)}:${shard}}`
}

/** Those of all shards of a shaper. */
export function shardTags(prefix: string, name: string, shards: number): string[] {
  return Array.from({ length: shards }, (_, shard) => shardTag(prefix, name, shard))
}

/**
 * The shard of a key: by its first segment, so that a family of keys lives together. FNV-1a over the bytes, 32 bits;
 * it must never change, or a key would be looked for where it is not.
 */
export function shardOf(key: string, shards: number): number {
  if (shards === 1) return 0
  const end = key.indexOf('/')
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(end === -1 ? key : key.slice(0, end))) {
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
