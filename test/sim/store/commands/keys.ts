import { integer } from '../args.ts'
import { OK, type Reply, refuse, Status, SYNTAX } from '../reply.ts'
import { type Caller, type Command, grows, reads, writes } from './command.ts'
import { globTest } from './glob.ts'
import { checkCursor, scanArguments } from './scan.ts'

function typeOf(value: NonNullable<ReturnType<Caller['db']['find']>>): string {
  return typeof value === 'string' ? 'string' : value.type
}

function remove({ db }: Caller, args: readonly string[]): Reply {
  let count = 0
  for (let at = 1; at < args.length; at++) {
    if (db.find(args[at]!) !== undefined && db.delete(args[at]!)) count++
  }
  return count
}

function expire(name: string, isSeconds: boolean, isAbsolute: boolean): Command {
  return writes(name, -3, ({ db, nowMs }, args) => {
    const key = args[1]!
    const conditions = readConditions(args)
    const value = integer(args[2]!)
    const end = value * (isSeconds ? 1_000 : 1) + (isAbsolute ? 0 : nowMs)
    if (Math.abs(end) > 2 ** 63 || Math.abs(value) * (isSeconds ? 1_000 : 1) > 2 ** 63) {
      refuse(`ERR invalid expire time in '${name}' command`)
    }
    if (db.find(key) === undefined) return 0
    const before = db.expires.get(key)
    if (conditions.has('NX') && before !== undefined) return 0
    if (conditions.has('XX') && before === undefined) return 0
    if (conditions.has('GT') && (before === undefined || end <= before)) return 0
    if (conditions.has('LT') && before !== undefined && end >= before) return 0
    if (end <= nowMs) db.delete(key)
    else {
      db.expires.set(key, end)
      db.touch(key)
    }
    return 1
  })
}

function readConditions(args: readonly string[]): ReadonlySet<string> {
  const conditions = new Set<string>()
  for (let at = 3; at < args.length; at++) {
    const word = args[at]!.toUpperCase()
    if (!['NX', 'XX', 'GT', 'LT'].includes(word)) refuse(`ERR Unsupported option ${args[at]!.split('\0')[0]}`)
    conditions.add(word)
  }
  if (conditions.has('NX') && conditions.size > 1) {
    refuse('ERR NX and XX, GT or LT options at the same time are not compatible')
  }
  if (conditions.has('GT') && conditions.has('LT')) {
    refuse('ERR GT and LT options at the same time are not compatible')
  }
  return conditions
}

/** -2: no such key; -1: it has no end. */
function timeLeft(name: string, read: (end: number, nowMs: number) => number): Command {
  return reads(name, 2, ({ db, nowMs }, args) => {
    if (db.find(args[1]!) === undefined) return -2
    const end = db.expires.get(args[1]!)
    return end === undefined ? -1 : read(end, nowMs)
  })
}

function rename({ db }: Caller, args: readonly string[], onlyIfMissing: boolean): Reply {
  const [, from, to] = args as [string, string, string]
  const value = db.find(from) ?? refuse('ERR no such key')
  if (from === to) return onlyIfMissing ? 0 : OK
  if (onlyIfMissing && db.find(to) !== undefined) return 0
  const end = db.expires.get(from)
  db.delete(from)
  db.put(to, value)
  if (end !== undefined) db.expires.set(to, end)
  return onlyIfMissing ? 1 : OK
}

/** All that there is, in one page. */
function scan({ db }: Caller, args: readonly string[]): Reply {
  checkCursor(args[1]!)
  const { test, type } = scanArguments(args, 1)
  const found = [...db.values.keys()].filter((key) => {
    if (!test(key)) return false
    const value = db.find(key)
    return value !== undefined && (type === undefined || typeOf(value) === type)
  })
  return ['0', found]
}

function flush({ db }: Caller, args: readonly string[]): Reply {
  if (args.length > 2 || (args.length === 2 && !/^a?sync$/i.test(args[1]!))) refuse(SYNTAX)
  for (const key of [...db.values.keys()]) db.delete(key)
  return OK
}

export const KEYS: readonly Command[] = [
  writes('del', -2, remove),
  writes('unlink', -2, remove),
  reads('exists', -2, ({ db }, args) => {
    return args.slice(1).filter((key) => db.find(key) !== undefined).length
  }),
  reads('touch', -2, ({ db }, args) => args.slice(1).filter((key) => db.find(key) !== undefined).length),
  reads('type', 2, ({ db }, args) => {
    const value = db.find(args[1]!)
    return new Status(value === undefined ? 'none' : typeOf(value))
  }),
  expire('expire', true, false),
  expire('pexpire', false, false),
  expire('expireat', true, true),
  expire('pexpireat', false, true),
  timeLeft('ttl', (end, nowMs) => Math.floor((end - nowMs + 500) / 1_000)),
  timeLeft('pttl', (end, nowMs) => end - nowMs),
  timeLeft('expiretime', (end) => Math.floor((end + 500) / 1_000)),
  timeLeft('pexpiretime', (end) => end),
  writes('persist', 2, ({ db }, args) => {
    if (db.find(args[1]!) === undefined || !db.expires.delete(args[1]!)) return 0
    db.touch(args[1]!)
    return 1
  }),
  writes('rename', 3, (caller, args) => rename(caller, args, false)),
  writes('renamenx', 3, (caller, args) => rename(caller, args, true)),
  reads('keys', 2, ({ db }, args) => [...db.keys()].filter(globTest(args[1]!))),
  reads('scan', -2, scan),
  reads('dbsize', 1, ({ db }) => db.values.size),
  reads('randomkey', 1, ({ db, random }) => {
    const keys = [...db.keys()]
    return keys[Math.floor(random() * keys.length)] ?? null
  }),
  writes('flushdb', -1, flush),
  grows('copy', -3, ({ db }, args) => {
    const value = db.find(args[1]!)
    const isReplacing = args.slice(3).some((word) => /^replace$/i.test(word))
    if (args.length > (isReplacing ? 4 : 3)) refuse(SYNTAX)
    if (args[1] === args[2]) refuse('ERR source and destination objects are the same')
    if (value === undefined || (!isReplacing && db.find(args[2]!) !== undefined)) return 0
    db.put(args[2]!, typeof value === 'string' ? value : value.copy())
    const end = db.expires.get(args[1]!)
    if (end !== undefined) db.expires.set(args[2]!, end)
    return 1
  }),
]
