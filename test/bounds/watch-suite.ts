import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { recount } from '../support/recount.ts'
import { redisAddress, takePrefixes } from '../support/redis-server.ts'
import { namesOf, strayKeys } from './key-owners.ts'

/** No reply of a script is larger; bytes. */
const MOST_BYTES = 1_048_576
/** Shards of a file that are counted again. */
const MOST_RECOUNTED = 20
/** What a test may still have under way when it ends; milliseconds. */
const PATIENCE_MS = 20_000

/** Commands with which a test puts something under our names, or takes it away, without a script. */
const WRITES = new Set(
  'set del unlink rename restore hset hmset hdel hincrby zadd zrem lpush rpush lpop rpop lset lrem ltrim sadd xadd persist'.split(
    ' ',
  ),
)

const spoiled = new Set<string>()
const largest: { sha: string; bytes: number }[] = []

watchClients()

/** Each command that a client of this process sends: its reply is measured, and shards that a test changes by hand are noted. */
function watchClients(): void {
  const send = Redis.prototype.sendCommand
  Redis.prototype.sendCommand = function (command, stream) {
    if (command.name === 'evalsha' || command.name === 'eval') {
      const script = String(command.args[0])
      command.promise.then(
        (reply: unknown) => note(script, sizeOf(reply), command.name === 'eval'),
        () => undefined,
      )
    } else if (WRITES.has(command.name)) noteWrite(String(command.args[0]))
    return send.call(this, command, stream)
  }
}

function noteWrite(key: string): void {
  const [, tag, rest = ''] = /^(\{.*?\})(.*)$/s.exec(key) ?? []
  // The transport writes its own keys without scripts, too.
  if (tag !== undefined && !rest.startsWith(':rope')) spoiled.add(tag)
}

/** @param isText whether the call carried the text of its script, as the first one on a server does */
function note(script: string, bytes: number, isText: boolean): void {
  if (bytes > MOST_BYTES) largest.push({ sha: isText ? shaOf(script) : script, bytes })
}

const shaOf = (text: string) => createHash('sha1').update(text).digest('hex')

/** Bytes of a reply, about: numbers count as eight. */
function sizeOf(reply: unknown): number {
  if (typeof reply === 'string') return Buffer.byteLength(reply)
  if (Buffer.isBuffer(reply)) return reply.length
  if (!Array.isArray(reply)) return 8
  let bytes = 0
  for (const item of reply) bytes += sizeOf(item)
  return bytes
}

/**
 * At the end of a test file: no script has answered with more than 1 MiB, no key of the file's shapers lacks an owner or an end,
 * and what its shards hold adds up. Shards into which a test wrote by hand are left out.
 */
export async function checkSuite(): Promise<void> {
  const replies = largest.splice(0)
  if (replies.length > 0) {
    const verbs = new Map([...allScripts()].map(([verb, { sha }]) => [sha, verb]))
    const ours = replies.flatMap(({ sha, bytes }) => (verbs.has(sha) ? [`${verbs.get(sha)}: ${bytes}`] : []))
    expect(ours, 'replies of more than 1 MiB').toEqual([])
  }
  const prefixes = takePrefixes()
  if (prefixes.size === 0) return
  const redis = new Redis(redisAddress())
  try {
    const find = () => findingsOf(redis, prefixes)
    const until = performance.now() + PATIENCE_MS
    let found = await find()
    // A process that a test has ended may have had a call under way.
    while (found.length > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      found = await find()
    }
    expect(found, 'left in Redis by the tests of this file').toEqual([])
  } finally {
    await removeKeys(redis, prefixes)
    redis.disconnect()
  }
}

/** Looking for the keys of one shaper takes the longer the more there are of others. */
async function removeKeys(redis: Redis, prefixes: ReadonlySet<string>): Promise<void> {
  for await (const names of namesOf(redis, (prefix) => prefixes.has(prefix))) {
    if (names.length > 0) await redis.unlink(...names.map(({ tag, name }) => `${tag}${name}`))
  }
}

async function findingsOf(redis: Redis, prefixes: ReadonlySet<string>): Promise<string[]> {
  const { strays, tags } = await strayKeys(redis, (prefix) => prefixes.has(prefix))
  const found = strays
    .filter(({ tag }) => !spoiled.has(tag))
    .map(({ tag, name }) => `without an owner or an end: ${tag}${name}`)
  for (const tag of tags.filter((tag) => !spoiled.has(tag)).slice(-MOST_RECOUNTED)) {
    found.push(...(await recount(redis, tag)).map((fault) => `${tag} ${fault}`))
  }
  return found
}
