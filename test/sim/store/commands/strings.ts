import { addIntegers, bigInteger, integer } from '../args.ts'
import { NO_INTEGER, OK, type Reply, refuse, SYNTAX } from '../reply.ts'
import { type Caller, type Command, grows, reads, writes } from './command.ts'

interface SetOptions {
  onlyIf: 'there' | 'missing' | undefined
  endMs: number | undefined
  keepsEnd: boolean
  answersOld: boolean
}

const ENDS: Readonly<Record<string, (value: number, nowMs: number) => number>> = {
  EX: (value, nowMs) => nowMs + value * 1_000,
  PX: (value, nowMs) => nowMs + value,
  EXAT: (value) => value * 1_000,
  PXAT: (value) => value,
}

/** @throws CommandError */
export function endOf(unit: string, text: string, nowMs: number, of: string): number {
  const value = integer(text)
  const end = ENDS[unit]!(value, nowMs)
  if (value <= 0 || end > 2 ** 63) refuse(`ERR invalid expire time in '${of}' command`)
  return end
}

function readOptions(args: readonly string[], nowMs: number): SetOptions {
  const options: SetOptions = {
    onlyIf: undefined,
    endMs: undefined,
    keepsEnd: false,
    answersOld: false,
  }
  let end: readonly [string, string] | undefined
  for (let at = 3; at < args.length; at++) {
    const word = args[at]!.toUpperCase()
    if (word === 'NX' && options.onlyIf === undefined) options.onlyIf = 'missing'
    else if (word === 'XX' && options.onlyIf === undefined) options.onlyIf = 'there'
    else if (word === 'GET') options.answersOld = true
    else if (word === 'KEEPTTL' && end === undefined) options.keepsEnd = true
    else if (ENDS[word] !== undefined && end === undefined && !options.keepsEnd && at + 1 < args.length) {
      end = [word, args[++at]!]
    } else refuse(SYNTAX)
  }
  if (end !== undefined) options.endMs = endOf(end[0], end[1], nowMs, 'set')
  return options
}

function set({ db, nowMs }: Caller, args: readonly string[]): Reply {
  const key = args[1]!
  const { onlyIf, endMs, keepsEnd, answersOld } = readOptions(args, nowMs)
  const old = answersOld ? (db.text(key) ?? null) : null
  const isThere = db.find(key) !== undefined
  if (onlyIf === 'there' ? !isThere : onlyIf === 'missing' && isThere) return old
  const end = keepsEnd ? db.expires.get(key) : endMs
  store(db, key, args[2]!, end)
  return answersOld ? old : OK
}

function store(db: Caller['db'], key: string, value: string, end: number | undefined): void {
  db.put(key, value)
  if (end !== undefined) db.expires.set(key, end)
}

/** Adds to a counter; its end stays. */
function add({ db }: Caller, key: string, by: bigint): Reply {
  const sum = addIntegers(db.text(key) ?? '0', by, NO_INTEGER)
  db.values.set(key, sum)
  db.touch(key)
  return BigInt(sum)
}

function setEnding(unit: 'EX' | 'PX', name: string) {
  return ({ db, nowMs }: Caller, args: readonly string[]): Reply => {
    store(db, args[1]!, args[3]!, endOf(unit, args[2]!, nowMs, name))
    return OK
  }
}

function setMany({ db }: Caller, args: readonly string[], onlyIfNoneIsThere: boolean): Reply {
  const name = args[0]!.toLowerCase()
  if (args.length % 2 === 0) refuse(`ERR wrong number of arguments for '${name}' command`)
  if (onlyIfNoneIsThere) {
    for (let at = 1; at < args.length; at += 2) if (db.find(args[at]!) !== undefined) return 0
  }
  for (let at = 1; at < args.length; at += 2) db.put(args[at]!, args[at + 1]!)
  return onlyIfNoneIsThere ? 1 : OK
}

function range({ db }: Caller, args: readonly string[]): Reply {
  const [from, to] = [integer(args[2]!), integer(args[3]!)]
  const text = db.text(args[1]!) ?? ''
  const { length } = text
  if (from < 0 && to < 0 && from > to) return ''
  const start = Math.max(0, from < 0 ? from + length : from)
  const end = Math.min(length - 1, Math.max(0, to < 0 ? to + length : to))
  return text.slice(start, end + 1)
}

function negated(by: bigint): bigint {
  if (by === -(2n ** 63n)) refuse('ERR decrement would overflow')
  return -by
}

export const STRINGS: readonly Command[] = [
  reads('get', 2, ({ db }, args) => db.text(args[1]!) ?? null),
  grows('set', -3, set),
  grows('setnx', 3, ({ db }, args) => {
    if (db.find(args[1]!) !== undefined) return 0
    db.put(args[1]!, args[2]!)
    return 1
  }),
  grows('setex', 4, setEnding('EX', 'setex')),
  grows('psetex', 4, setEnding('PX', 'psetex')),
  grows('getset', 3, ({ db }, args) => {
    const old = db.text(args[1]!) ?? null
    db.put(args[1]!, args[2]!)
    return old
  }),
  writes('getdel', 2, ({ db }, args) => {
    const old = db.text(args[1]!) ?? null
    db.delete(args[1]!)
    return old
  }),
  reads('mget', -2, ({ db }, args) => {
    return args.slice(1).map((key) => {
      const value = db.find(key)
      return typeof value === 'string' ? value : null
    })
  }),
  grows('mset', -3, (caller, args) => setMany(caller, args, false)),
  grows('msetnx', -3, (caller, args) => setMany(caller, args, true)),
  grows('incr', 2, (caller, args) => add(caller, args[1]!, 1n)),
  grows('decr', 2, (caller, args) => add(caller, args[1]!, -1n)),
  grows('incrby', 3, (caller, args) => add(caller, args[1]!, bigInteger(args[2]!))),
  grows('decrby', 3, (caller, args) => add(caller, args[1]!, negated(bigInteger(args[2]!)))),
  grows('append', 3, ({ db }, args) => {
    const text = (db.text(args[1]!) ?? '') + args[2]!
    db.values.set(args[1]!, text)
    db.touch(args[1]!)
    return text.length
  }),
  reads('strlen', 2, ({ db }, args) => db.text(args[1]!)?.length ?? 0),
  reads('getrange', 4, range),
]
