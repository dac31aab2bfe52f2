import { addIntegers, bigInteger, integer } from '../args.ts'
import type { Keyspace } from '../keyspace.ts'
import { Flat, OK, type Reply, refuse, SYNTAX } from '../reply.ts'
import { HashValue } from '../values/hash.ts'
import { type Caller, type Command, grows, reads, writes } from './command.ts'
import { checkCursor, scanArguments } from './scan.ts'

/** The hash of a key, which is made when there is none. It must be settled or stored by the caller. */
function hashForWrite(db: Keyspace, key: string): HashValue {
  const hash = db.hash(key)
  if (hash !== undefined) return hash
  const made = new HashValue()
  db.values.set(key, made)
  return made
}

/** How many of the fields are new. */
function set({ db }: Caller, args: readonly string[], name: string): number {
  if (args.length % 2 === 1) refuse(`ERR wrong number of arguments for '${name}' command`)
  const key = args[1]!
  const hash = hashForWrite(db, key)
  let count = 0
  for (let at = 2; at < args.length; at += 2) if (hash.set(args[at]!, args[at + 1]!)) count++
  db.touch(key)
  return count
}

function increment({ db }: Caller, args: readonly string[]): Reply {
  const by = bigInteger(args[3]!)
  const before = db.hash(args[1]!)?.fields.get(args[2]!) ?? '0'
  const sum = addIntegers(before, by, 'ERR hash value is not an integer')
  hashForWrite(db, args[1]!).set(args[2]!, sum)
  db.touch(args[1]!)
  return BigInt(sum)
}

function remove({ db }: Caller, args: readonly string[]): Reply {
  const hash = db.hash(args[1]!)
  if (hash === undefined) return 0
  let count = 0
  for (let at = 2; at < args.length; at++) if (hash.delete(args[at]!)) count++
  if (count > 0) db.settle(args[1]!, hash)
  return count
}

function scan({ db }: Caller, args: readonly string[]): Reply {
  checkCursor(args[2]!)
  const fields = db.hash(args[1]!)?.fields
  if (fields === undefined) return ['0', []]
  const { test } = scanArguments(args, 2)
  const found: string[] = []
  for (const [field, value] of fields) if (test(field)) found.push(field, value)
  return ['0', found]
}

/** One field; or so many, each once; or so many, one by one, where the count is negative. */
function draw({ db, random }: Caller, args: readonly string[]): Reply {
  const count = args.length > 2 ? integer(args[2]!) : 1
  const hasValues = args[3]?.toLowerCase() === 'withvalues'
  if (args.length > 4 || (args.length === 4 && !hasValues)) refuse(SYNTAX)
  const all = [...(db.hash(args[1]!)?.fields ?? [])]
  const left = [...all]
  const taken: (readonly [string, string])[] = []
  for (let n = 0; n < Math.abs(count) && left.length > 0; n++) {
    const at = Math.floor(random() * left.length)
    taken.push(left[at]!)
    if (count > 0) left.splice(at, 1)
  }
  if (args.length === 2) return taken[0]?.[0] ?? null
  return hasValues ? new Flat('pairs', taken.flat()) : taken.map(([field]) => field)
}

export const HASHES: readonly Command[] = [
  grows('hset', -4, (caller, args) => set(caller, args, 'hset')),
  grows('hmset', -4, (caller, args) => {
    set(caller, args, 'hmset')
    return OK
  }),
  grows('hsetnx', 4, ({ db }, args) => {
    if (db.hash(args[1]!)?.fields.has(args[2]!)) return 0
    hashForWrite(db, args[1]!).set(args[2]!, args[3]!)
    db.touch(args[1]!)
    return 1
  }),
  reads('hget', 3, ({ db }, args) => db.hash(args[1]!)?.fields.get(args[2]!) ?? null),
  reads('hmget', -3, ({ db }, args) => {
    const fields = db.hash(args[1]!)?.fields
    const found: (string | null)[] = []
    for (let at = 2; at < args.length; at++) found.push(fields?.get(args[at]!) ?? null)
    return found
  }),
  reads('hgetall', 2, ({ db }, args) => {
    const flat: string[] = []
    for (const [field, value] of db.hash(args[1]!)?.fields ?? []) flat.push(field, value)
    return new Flat('map', flat)
  }),
  writes('hdel', -3, remove),
  reads('hlen', 2, ({ db }, args) => db.hash(args[1]!)?.size ?? 0),
  reads('hexists', 3, ({ db }, args) => (db.hash(args[1]!)?.fields.has(args[2]!) ? 1 : 0)),
  reads('hkeys', 2, ({ db }, args) => [...(db.hash(args[1]!)?.fields.keys() ?? [])]),
  reads('hvals', 2, ({ db }, args) => [...(db.hash(args[1]!)?.fields.values() ?? [])]),
  grows('hincrby', 4, increment),
  reads('hstrlen', 3, ({ db }, args) => db.hash(args[1]!)?.fields.get(args[2]!)?.length ?? 0),
  reads('hrandfield', -2, draw),
  reads('hscan', -3, scan),
]
