import { integer } from '../args.ts'
import { Flat, type Reply, refuse, SYNTAX } from '../reply.ts'
import { SetValue } from '../values/hash.ts'
import { type Caller, type Command, grows, reads, writes } from './command.ts'
import { checkCursor, scanArguments } from './scan.ts'

function setForWrite(db: Caller['db'], key: string): SetValue {
  const set = db.members(key)
  if (set !== undefined) return set
  const made = new SetValue()
  db.values.set(key, made)
  return made
}

function add({ db }: Caller, args: readonly string[]): Reply {
  const set = setForWrite(db, args[1]!)
  let count = 0
  for (let at = 2; at < args.length; at++) if (set.add(args[at]!)) count++
  if (count > 0) db.touch(args[1]!)
  return count
}

function remove({ db }: Caller, args: readonly string[]): Reply {
  const set = db.members(args[1]!)
  if (set === undefined) return 0
  let count = 0
  for (let at = 2; at < args.length; at++) if (set.delete(args[at]!)) count++
  if (count > 0) db.settle(args[1]!, set)
  return count
}

function move({ db }: Caller, args: readonly string[]): Reply {
  const [, from, to, member] = args as [string, string, string, string]
  const source = db.members(from)
  if (source === undefined) return 0
  db.members(to)
  if (from === to) return source.members.has(member) ? 1 : 0
  if (!source.delete(member)) return 0
  db.settle(from, source)
  setForWrite(db, to).add(member)
  db.touch(to)
  return 1
}

/** Draws members: without a count one, with a negative one also the same several times. */
function draw({ db, random }: Caller, args: readonly string[]): Reply {
  if (args.length > 3) refuse(SYNTAX)
  const members = [...(db.members(args[1]!)?.members ?? [])]
  const pick = () => members[Math.floor(random() * members.length)]!
  if (args.length === 2) return members.length === 0 ? null : pick()
  const count = integer(args[2]!)
  if (members.length === 0) return []
  if (count < 0) return Array.from({ length: -count }, pick)
  return drawn(members, count, random)
}

function drawn(members: string[], count: number, random: () => number): string[] {
  const left = [...members]
  const taken: string[] = []
  while (taken.length < count && left.length > 0) {
    taken.push(...left.splice(Math.floor(random() * left.length), 1))
  }
  return taken
}

function pop({ db, random }: Caller, args: readonly string[]): Reply {
  if (args.length > 3) refuse(SYNTAX)
  const count = args.length === 3 ? integer(args[2]!, 'ERR value is out of range, must be positive') : 1
  if (count < 0) refuse('ERR value is out of range, must be positive')
  const set = db.members(args[1]!)
  const taken = set === undefined ? [] : drawn([...set.members], count, random)
  for (const member of taken) set!.delete(member)
  if (taken.length > 0) db.settle(args[1]!, set!)
  return args.length === 3 ? new Flat('set', taken) : (taken[0] ?? null)
}

export const SETS: readonly Command[] = [
  grows('sadd', -3, add),
  writes('srem', -3, remove),
  writes('smove', 4, move),
  writes('spop', -2, pop),
  reads('scard', 2, ({ db }, args) => db.members(args[1]!)?.size ?? 0),
  reads('sismember', 3, ({ db }, args) => (db.members(args[1]!)?.members.has(args[2]!) ? 1 : 0)),
  reads('smismember', -3, ({ db }, args) => {
    const members = db.members(args[1]!)?.members
    return args.slice(2).map((member) => (members?.has(member) ? 1 : 0))
  }),
  reads('smembers', 2, ({ db }, args) => new Flat('set', [...(db.members(args[1]!)?.members ?? [])])),
  reads('srandmember', -2, draw),
  reads('sscan', -3, ({ db }, args) => {
    checkCursor(args[2]!)
    const set = db.members(args[1]!)
    return ['0', set === undefined ? [] : [...set.members].filter(scanArguments(args, 2).test)]
  }),
]
