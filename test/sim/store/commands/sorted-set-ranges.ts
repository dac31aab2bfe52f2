import { integer, span } from '../args.ts'
import { parseNumber } from '../lua/numbers.ts'
import { Double, Flat, type Reply, refuse, SYNTAX } from '../reply.ts'
import type { Entry, SortedSetValue } from '../values/sorted-set.ts'
import { type Command, reads, writes } from './command.ts'

/** Ranges of sorted sets: by place, by score, and by the bytes of members with the same score. */

/** The places of a range: the first, and that after the last. */
export type Places = readonly [number, number]

/** A border of a range: entries before it, seen from the lowest, do not belong to it. */
interface Border {
  isBefore(entry: Entry): boolean
}

/** As C's `strtod` reads it, up to a zero byte, and where an empty text is 0. @throws CommandError */
function score(text: string): number {
  const [read = ''] = text.split('\0')
  const value = read === '' ? 0 : /\s$/.test(read) ? undefined : parseNumber(read)
  return value === undefined || Number.isNaN(value) ? refuse('ERR min or max is not a float') : value
}

function scoreBorder(text: string, isEnd: boolean): Border {
  const isOpen = text.startsWith('(')
  const value = score(isOpen ? text.slice(1) : text)
  return isOpen === isEnd
    ? { isBefore: (entry) => entry.score < value }
    : { isBefore: (entry) => entry.score <= value }
}

function lexBorder(text: string, isEnd: boolean): Border {
  // A sign ends with the text, or at a zero byte.
  if (/^-(?:\0|$)/.test(text)) return { isBefore: () => false }
  if (/^\+(?:\0|$)/.test(text)) return { isBefore: () => true }
  if (!/^[[(]/.test(text)) refuse('ERR min or max not valid string range item')
  const member = text.slice(1)
  return (text[0] === '(') === isEnd
    ? { isBefore: (entry) => entry.member < member }
    : { isBefore: (entry) => entry.member <= member }
}

function between(set: SortedSetValue, low: Border, high: Border): Places {
  const start = set.countWhile((entry) => low.isBefore(entry))
  return [
    start,
    Math.max(
      start,
      set.countWhile((entry) => high.isBefore(entry)),
    ),
  ]
}

type Kind = 'index' | 'score' | 'lex'

/** Reads the two ends of a range, whose order is turned around where it is read from the highest. */
function reader(
  kind: Kind,
  first: string,
  last: string,
  isReverse: boolean,
): (set: SortedSetValue) => Places {
  if (kind === 'index') {
    const [from, to] = [integer(first), integer(last)]
    return (set) => {
      const [start, end] = span(from, to, set.size)
      return isReverse ? [set.size - end, set.size - start] : [start, end]
    }
  }
  const border = kind === 'score' ? scoreBorder : lexBorder
  const [least, most] = isReverse ? [last, first] : [first, last]
  const [low, high] = [border(least, false), border(most, true)]
  return (set) => between(set, low, high)
}

interface Options {
  kind: Kind
  isReverse: boolean
  withScores: boolean
  offset: number
  count: number
}

function readOptions(args: readonly string[], options: Options, isGeneral: boolean): Options {
  for (let at = 4; at < args.length; at++) {
    const word = args[at]!.toUpperCase()
    if (word === 'WITHSCORES') options.withScores = true
    else if (word === 'LIMIT' && at + 2 < args.length) {
      options.offset = integer(args[++at]!)
      options.count = integer(args[++at]!)
    } else if (isGeneral && word === 'REV') options.isReverse = true
    else if (isGeneral && word === 'BYSCORE') options.kind = 'score'
    else if (isGeneral && word === 'BYLEX') options.kind = 'lex'
    else refuse(SYNTAX)
  }
  if (options.count !== -1 && options.kind === 'index') {
    refuse('ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX')
  }
  if (options.withScores && options.kind === 'lex') {
    refuse('ERR syntax error, WITHSCORES not supported in combination with BYLEX')
  }
  // By place, there is nothing that a limit of all could leave out.
  return options.kind === 'index' ? { ...options, offset: 0 } : options
}

function range(name: string, kind: Kind, isReverse: boolean): Command {
  const isGeneral = name === 'zrange'
  return reads(name, -4, ({ db }, args) => {
    const start: Options = { kind, isReverse, withScores: false, offset: 0, count: -1 }
    const options = readOptions(args, start, isGeneral)
    const places = reader(options.kind, args[2]!, args[3]!, options.isReverse)
    const set = db.sortedSet(args[1]!)
    const found = set === undefined ? [] : limited(set, places(set), options)
    return withScores(found, options.withScores)
  })
}

function limited(set: SortedSetValue, [start, end]: Places, { isReverse, offset, count }: Options): Entry[] {
  if (offset < 0) return []
  const most = count < 0 ? Number.POSITIVE_INFINITY : count
  if (isReverse) {
    const last = end - offset
    const first = Math.max(start, last - most)
    return last > first ? set.entries.slice(first, last).reverse() : []
  }
  return set.entries.slice(start + offset, Math.min(end, start + offset + most))
}

export function withScores(entries: readonly Entry[], isWanted: boolean): Reply {
  if (!isWanted) return entries.map(({ member }) => member)
  const flat: Reply[] = []
  for (const { member, score } of entries) flat.push(member, new Double(score))
  return new Flat('pairs', flat)
}

function count(name: string, kind: Kind): Command {
  return reads(name, 4, ({ db }, args) => {
    const places = reader(kind, args[2]!, args[3]!, false)
    const set = db.sortedSet(args[1]!)
    if (set === undefined) return 0
    const [start, end] = places(set)
    return end - start
  })
}

function remove(name: string, kind: Kind): Command {
  return writes(name, 4, ({ db }, args) => {
    const places = reader(kind, args[2]!, args[3]!, false)
    const set = db.sortedSet(args[1]!)
    if (set === undefined) return 0
    const removed = set.cut(...places(set)).length
    if (removed > 0) db.settle(args[1]!, set)
    return removed
  })
}

export const SORTED_SET_RANGES: readonly Command[] = [
  range('zrange', 'index', false),
  range('zrevrange', 'index', true),
  range('zrangebyscore', 'score', false),
  range('zrevrangebyscore', 'score', true),
  range('zrangebylex', 'lex', false),
  range('zrevrangebylex', 'lex', true),
  count('zcount', 'score'),
  count('zlexcount', 'lex'),
  remove('zremrangebyrank', 'index'),
  remove('zremrangebyscore', 'score'),
  remove('zremrangebylex', 'lex'),
]
