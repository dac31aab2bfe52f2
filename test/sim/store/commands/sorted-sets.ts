import { float, integer, timeout } from '../args.ts'
import type { Keyspace } from '../keyspace.ts'
import { Double, NO_LIST, type Reply, refuse, SYNTAX } from '../reply.ts'
import { type Entry, SortedSetValue } from '../values/sorted-set.ts'
import { multiPopArguments } from './blocking-lists.ts'
import { type Caller, type Command, grows, reads, Wait, writes } from './command.ts'
import { checkCursor, scanArguments } from './scan.ts'
import { withScores } from './sorted-set-ranges.ts'

const NOT_A_NUMBER = 'ERR resulting score is not a number (NaN)'
const OUT_OF_RANGE = 'ERR value is out of range, must be positive'

function setForWrite(db: Keyspace, key: string): SortedSetValue {
  return db.sortedSet(key) ?? new SortedSetValue()
}

/** A set that was empty is kept only now that it holds something. */
function keep(db: Keyspace, key: string, set: SortedSetValue): void {
  if (db.values.get(key) === undefined) {
    if (set.size > 0) db.put(key, set)
  } else db.touch(key)
}

const FLAGS = ['NX', 'XX', 'GT', 'LT', 'CH', 'INCR'] as const

function add({ db }: Caller, args: readonly string[]): Reply {
  const flags = new Set<string>()
  let at = 2
  for (; at < args.length; at++) {
    const word = args[at]!.toUpperCase()
    if (!FLAGS.some((flag) => flag === word)) break
    flags.add(word)
  }
  const isIncrement = flags.has('INCR')
  const words = args.length - at
  if (words === 0 || words % 2 === 1) refuse(SYNTAX)
  if (flags.has('NX') && flags.has('XX')) {
    refuse('ERR XX and NX options at the same time are not compatible')
  }
  if ([flags.has('NX'), flags.has('GT'), flags.has('LT')].filter(Boolean).length > 1) {
    refuse('ERR GT, LT, and/or NX options at the same time are not compatible')
  }
  if (isIncrement && words > 2) refuse('ERR INCR option supports a single increment-element pair')
  const scores: number[] = []
  for (let index = at; index < args.length; index += 2) scores.push(float(args[index]!))
  const set = setForWrite(db, args[1]!)
  let [added, changed] = [0, 0]
  let last: number | null = null
  for (const [index, score] of scores.entries()) {
    const member = args[at + index * 2 + 1]!
    const before = set.score(member)
    const wanted = isIncrement && before !== undefined ? before + score : score
    if (Number.isNaN(wanted)) refuse(NOT_A_NUMBER)
    if (!isAllowed(flags, before, wanted)) continue
    last = wanted
    if (before === undefined) added++
    else if (before !== wanted) changed++
    set.set(member, wanted)
  }
  if (added + changed > 0) keep(db, args[1]!, set)
  if (isIncrement) return last === null ? null : new Double(last)
  return flags.has('CH') ? added + changed : added
}

function isAllowed(flags: ReadonlySet<string>, before: number | undefined, wanted: number): boolean {
  if (before === undefined) return !flags.has('XX')
  if (flags.has('NX')) return false
  if (flags.has('GT') && wanted <= before) return false
  return !(flags.has('LT') && wanted >= before)
}

function remove({ db }: Caller, args: readonly string[]): Reply {
  const set = db.sortedSet(args[1]!)
  if (set === undefined) return 0
  let count = 0
  for (let at = 2; at < args.length; at++) if (set.delete(args[at]!)) count++
  if (count > 0) db.settle(args[1]!, set)
  return count
}

function popFrom(db: Keyspace, key: string, isMost: boolean, most: number): Entry[] {
  const set = db.sortedSet(key)
  if (set === undefined) return []
  const { size } = set
  const count = Math.min(most, size)
  const taken = isMost ? set.cut(size - count, size).reverse() : set.cut(0, count)
  if (taken.length > 0) db.settle(key, set)
  return taken
}

/** Without a count, clients of RESP3 get one flat pair. */
function pops(name: string, isMost: boolean): Command {
  return writes(name, -2, ({ db }, args) => {
    if (args.length > 3) refuse(SYNTAX)
    const count = args.length === 3 ? integer(args[2]!, OUT_OF_RANGE) : 1
    if (count < 0) refuse(OUT_OF_RANGE)
    const taken = popFrom(db, args[1]!, isMost, count)
    if (args.length === 3) return withScores(taken, true)
    return taken.flatMap(({ member, score }): Reply[] => [member, new Double(score)])
  })
}

function blockingPops(name: string, isMost: boolean): Command {
  return writes(name, -3, ({ db }, args) => {
    const keys = args.slice(1, -1)
    const attempt = () => {
      for (const key of keys) {
        const [entry] = popFrom(db, key, isMost, 1)
        if (entry !== undefined) return [key, entry.member, new Double(entry.score)]
      }
      return undefined
    }
    const within = timeout(args[args.length - 1]!)
    return attempt() ?? new Wait(keys, within, attempt, NO_LIST)
  })
}

function multiPop(db: Keyspace, args: readonly string[], at: number) {
  const { keys, end, count } = multiPopArguments(args, at, ['MIN', 'MAX'])
  const attempt = (): Reply | undefined => {
    for (const key of keys) {
      const taken = popFrom(db, key, end === 'MAX', count)
      if (taken.length > 0) {
        return [key, taken.map(({ member, score }) => [member, new Double(score)])]
      }
    }
    return undefined
  }
  return { keys, attempt }
}

function rank(name: string, isReverse: boolean): Command {
  return reads(name, 3, ({ db }, args) => {
    const set = db.sortedSet(args[1]!)
    const place = set?.rank(args[2]!) ?? -1
    if (place === -1) return null
    return isReverse ? set!.size - 1 - place : place
  })
}

function scoreOf(set: SortedSetValue | undefined, member: string): Double | null {
  const score = set?.score(member)
  return score === undefined ? null : new Double(score)
}

export const SORTED_SETS: readonly Command[] = [
  grows('zadd', -4, add),
  grows('zincrby', 4, ({ db }, args) => {
    const by = float(args[2]!)
    const set = setForWrite(db, args[1]!)
    const before = set.score(args[3]!)
    const sum = before === undefined ? by : before + by
    if (Number.isNaN(sum)) refuse(NOT_A_NUMBER)
    set.set(args[3]!, sum)
    keep(db, args[1]!, set)
    return new Double(sum)
  }),
  writes('zrem', -3, remove),
  reads('zscore', 3, ({ db }, args) => scoreOf(db.sortedSet(args[1]!), args[2]!)),
  reads('zmscore', -3, ({ db }, args) => {
    const set = db.sortedSet(args[1]!)
    return args.slice(2).map((member) => scoreOf(set, member))
  }),
  reads('zcard', 2, ({ db }, args) => db.sortedSet(args[1]!)?.size ?? 0),
  rank('zrank', false),
  rank('zrevrank', true),
  pops('zpopmin', false),
  pops('zpopmax', true),
  blockingPops('bzpopmin', false),
  blockingPops('bzpopmax', true),
  writes('zmpop', -4, ({ db }, args) => multiPop(db, args, 1).attempt() ?? NO_LIST),
  writes('bzmpop', -5, ({ db }, args) => {
    const within = timeout(args[1]!)
    const { keys, attempt } = multiPop(db, args, 2)
    return attempt() ?? new Wait(keys, within, attempt, NO_LIST)
  }),
  reads('zscan', -3, ({ db }, args) => {
    checkCursor(args[2]!)
    const set = db.sortedSet(args[1]!)
    if (set === undefined) return ['0', []]
    const { test } = scanArguments(args, 2)
    const flat: Reply[] = []
    for (const { member, score } of set.entries) {
      if (test(member)) flat.push(member, new Double(score).text)
    }
    return ['0', flat]
  }),
]
