import { integer, place, span } from '../args.ts'
import { NO_LIST, OK, type Reply, refuse, SYNTAX } from '../reply.ts'
import { ListValue } from '../values/list.ts'
import { type Caller, type Command, grows, reads, writes } from './command.ts'

const OUT_OF_RANGE = 'ERR value is out of range, must be positive'

export type End = 'LEFT' | 'RIGHT'

export function push(db: Caller['db'], key: string, end: End, values: readonly string[]): number {
  let list = db.list(key)
  if (list === undefined) {
    list = new ListValue()
    db.values.set(key, list)
  }
  for (const value of values) {
    if (end === 'LEFT') list.pushLeft(value)
    else list.pushRight(value)
  }
  db.touch(key)
  return list.size
}

export function pop(db: Caller['db'], key: string, end: End): string | undefined {
  const list = db.list(key)
  const value = end === 'LEFT' ? list?.popLeft() : list?.popRight()
  if (value !== undefined) db.settle(key, list!)
  return value
}

function pushes(name: string, end: End, onlyIfThere: boolean): Command {
  return grows(name, -3, ({ db }, args) => {
    if (onlyIfThere && db.list(args[1]!) === undefined) return 0
    return push(db, args[1]!, end, args.slice(2))
  })
}

function pops(name: string, end: End): Command {
  return writes(name, -2, ({ db }, args) => {
    if (args.length > 3) refuse(`ERR wrong number of arguments for '${name}' command`)
    if (args.length === 2) return pop(db, args[1]!, end) ?? null
    const count = integer(args[2]!, OUT_OF_RANGE)
    if (count < 0) refuse(OUT_OF_RANGE)
    const list = db.list(args[1]!)
    if (list === undefined) return NO_LIST
    return popMany(db, args[1]!, list, end, count)
  })
}

export function popMany(db: Caller['db'], key: string, list: ListValue, end: End, most: number): string[] {
  const taken: string[] = []
  while (taken.length < most && list.size > 0) {
    taken.push(end === 'LEFT' ? list.popLeft()! : list.popRight()!)
  }
  if (taken.length > 0) db.settle(key, list)
  return taken
}

function remove({ db }: Caller, args: readonly string[]): Reply {
  const count = integer(args[2]!)
  const list = db.list(args[1]!)
  if (list === undefined) return 0
  const most = count === 0 ? Number.POSITIVE_INFINITY : Math.abs(count)
  let removed = 0
  if (count >= 0) {
    for (let at = 0; at < list.size && removed < most; ) {
      if (list.at(at) !== args[3]) at++
      else {
        list.remove(at)
        removed++
      }
    }
  } else {
    for (let at = list.size - 1; at >= 0 && removed < most; at--) {
      if (list.at(at) !== args[3]) continue
      list.remove(at)
      removed++
    }
  }
  if (removed > 0) db.settle(args[1]!, list)
  return removed
}

function trim({ db }: Caller, args: readonly string[]): Reply {
  const [from, to] = [integer(args[2]!), integer(args[3]!)]
  const list = db.list(args[1]!)
  if (list === undefined) return OK
  const [start, end] = span(from, to, list.size)
  if (end - start < list.size) list.replace(list.slice(start, end))
  db.settle(args[1]!, list)
  return OK
}

function position({ db }: Caller, args: readonly string[]): Reply {
  let [rank, count, most] = [1, -1, 0]
  for (let at = 3; at < args.length; at += 2) {
    const word = args[at]!.toUpperCase()
    const text = args[at + 1] ?? refuse(SYNTAX)
    if (word === 'RANK') {
      rank = integer(text)
      if (rank === 0) {
        refuse(
          "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to " +
            'start from the end of the list',
        )
      }
    } else if (word === 'COUNT') {
      count = integer(text, "ERR COUNT can't be negative")
      if (count < 0) refuse("ERR COUNT can't be negative")
    } else if (word === 'MAXLEN') {
      most = integer(text, "ERR MAXLEN can't be negative")
      if (most < 0) refuse("ERR MAXLEN can't be negative")
    } else refuse(SYNTAX)
  }
  const list = db.list(args[1]!)
  const found: number[] = []
  const size = list?.size ?? 0
  const wanted = count === 0 ? size : Math.max(1, count)
  // The least integer has no opposite, and C leaves it negative: nothing is skipped.
  let skip = rank <= -(2 ** 63) ? 0 : Math.abs(rank) - 1
  for (let step = 0; step < size && found.length < wanted && (most === 0 || step < most); step++) {
    const at = rank > 0 ? step : size - 1 - step
    if (list!.at(at) !== args[2]) continue
    if (skip > 0) skip--
    else found.push(at)
  }
  return count === -1 ? (found[0] ?? null) : found
}

function insert({ db }: Caller, args: readonly string[]): Reply {
  const where = args[2]!.toUpperCase()
  if (where !== 'BEFORE' && where !== 'AFTER') refuse(SYNTAX)
  const list = db.list(args[1]!)
  if (list === undefined) return 0
  for (let at = 0; at < list.size; at++) {
    if (list.at(at) !== args[3]) continue
    list.insert(where === 'BEFORE' ? at : at + 1, args[4]!)
    db.touch(args[1]!)
    return list.size
  }
  return -1
}

export const LISTS: readonly Command[] = [
  pushes('lpush', 'LEFT', false),
  pushes('rpush', 'RIGHT', false),
  pushes('lpushx', 'LEFT', true),
  pushes('rpushx', 'RIGHT', true),
  pops('lpop', 'LEFT'),
  pops('rpop', 'RIGHT'),
  reads('llen', 2, ({ db }, args) => db.list(args[1]!)?.size ?? 0),
  reads('lrange', 4, ({ db }, args) => {
    const [from, to] = [integer(args[2]!), integer(args[3]!)]
    const list = db.list(args[1]!)
    return list === undefined ? [] : list.slice(...span(from, to, list.size))
  }),
  reads('lindex', 3, ({ db }, args) => {
    const list = db.list(args[1]!)
    if (list === undefined) return null
    const at = place(integer(args[2]!), list.size)
    return at < 0 ? null : (list.at(at) ?? null)
  }),
  grows('lset', 4, ({ db }, args) => {
    const list = db.list(args[1]!) ?? refuse('ERR no such key')
    const at = place(integer(args[2]!), list.size)
    if (at < 0 || at >= list.size) refuse('ERR index out of range')
    list.set(at, args[3]!)
    db.touch(args[1]!)
    return OK
  }),
  writes('lrem', 4, remove),
  writes('ltrim', 4, trim),
  reads('lpos', -3, position),
  grows('linsert', 5, insert),
]
