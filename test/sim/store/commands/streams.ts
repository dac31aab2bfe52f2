import { integer } from '../args.ts'
import { Flat, NO_LIST, type Reply, refuse, SYNTAX } from '../reply.ts'
import { compareIds, type StreamEntry, type StreamId, StreamValue } from '../values/stream.ts'
import { type Caller, type Command, grows, reads, Wait, writes } from './command.ts'
import { after, GREATEST_ID, idText, LEAST_ID, parseEnd, parseId } from './stream-ids.ts'

const TOO_SMALL = 'ERR The ID specified in XADD is equal or smaller than the target stream top item'

interface Trim {
  readonly kind: 'MAXLEN' | 'MINID'
  readonly isAbout: boolean
  readonly limit: string
}

/** Reads options up to the id; the rest are fields and values. */
function readOptions(args: readonly string[], isAdd: boolean): { trim?: Trim; makes: boolean; at: number } {
  let trim: Trim | undefined
  let makes = true
  let hasLimit = false
  let at = 2
  for (; at < args.length; at++) {
    const word = args[at]!.toUpperCase()
    const more = args.length - 1 - at
    if (isAdd && word === '*') break
    if ((word === 'MAXLEN' || word === 'MINID') && more > 0) {
      if (trim !== undefined)
        refuse('ERR syntax error, MAXLEN and MINID options at the same time are not compatible')
      const mode = args[at + 1]!
      const hasMode = more >= 2 && (mode === '~' || mode === '=')
      at += hasMode ? 2 : 1
      trim = { kind: word, isAbout: hasMode && mode === '~', limit: args[at]! }
      if (word === 'MAXLEN' && integer(args[at]!) < 0) refuse('ERR The MAXLEN argument must be >= 0.')
      if (word === 'MINID') parseId(args[at]!, 0n)
    } else if (word === 'LIMIT' && more > 0) {
      hasLimit = true
      if (integer(args[++at]!) < 0) refuse('ERR The LIMIT argument must be >= 0.')
    } else if (isAdd && word === 'NOMKSTREAM') makes = false
    else if (isAdd) break
    else refuse(SYNTAX)
  }
  if (hasLimit && trim === undefined)
    refuse('ERR syntax error, LIMIT cannot be used without specifying a trimming strategy')
  if (hasLimit && !trim!.isAbout)
    refuse('ERR syntax error, LIMIT cannot be used without the special ~ option')
  return trim === undefined ? { makes, at } : { trim, makes, at }
}

function applyTrim(stream: StreamValue, { kind, isAbout, limit }: Trim): number {
  if (kind === 'MAXLEN') return stream.trimToLength(integer(limit), isAbout)
  return stream.trimBefore(parseId(limit, 0n), isAbout)
}

/** The id of a new entry, greater than the last. */
function nextId(text: string, { lastId }: StreamValue, nowMs: number): StreamId {
  if (compareIds(lastId, GREATEST_ID) === 0) {
    refuse('ERR The stream has exhausted the last possible ID, unable to add more items')
  }
  if (text === '*') {
    const ms = BigInt(nowMs)
    const id = ms > lastId.ms ? { ms, seq: 0n } : after(lastId)
    return id ?? refuse(TOO_SMALL)
  }
  if (text.endsWith('-*')) {
    const { ms } = parseId(text.slice(0, -2), 0n)
    if (ms < lastId.ms) refuse(TOO_SMALL)
    const id = ms === lastId.ms ? after(lastId) : { ms, seq: 0n }
    return id === undefined || id.ms !== ms ? refuse(TOO_SMALL) : id
  }
  const id = parseId(text, 0n)
  return compareIds(id, lastId) <= 0 ? refuse(TOO_SMALL) : id
}

function add({ db, nowMs }: Caller, args: readonly string[]): Reply {
  const { trim, makes, at } = readOptions(args, true)
  const fields = args.slice(at + 1)
  const text = args[at]
  if (text !== undefined && text !== '*') parseId(text.replace(/-\*$/, ''), 0n)
  if (fields.length < 2 || fields.length % 2 === 1) refuse("ERR wrong number of arguments for 'xadd' command")
  if (text === '0-0' || text === '0') refuse('ERR The ID specified in XADD must be greater than 0-0')
  let stream = db.stream(args[1]!)
  if (stream === undefined && !makes) return null
  const isNew = stream === undefined
  stream ??= new StreamValue()
  const id = nextId(text!, stream, nowMs)
  stream.add(id, fields)
  if (trim !== undefined) applyTrim(stream, trim)
  if (isNew) db.put(args[1]!, stream)
  else db.touch(args[1]!)
  return idText(id)
}

function shown(entries: readonly StreamEntry[]): Reply {
  return entries.map(({ id, fields }) => [idText(id), fields])
}

function between(stream: StreamValue | undefined, low: StreamId, high: StreamId): readonly StreamEntry[] {
  const entries = stream?.entries ?? []
  return entries.slice(firstAfter(entries, low, 0), firstAfter(entries, high, 1))
}

/** How many entries come before an id, or, with `included` 1, up to it. */
function firstAfter(entries: readonly StreamEntry[], id: StreamId, included: 0 | 1): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareIds(entries[middle]!.id, id) < included) low = middle + 1
    else high = middle
  }
  return low
}

function range(name: string, isReverse: boolean): Command {
  return reads(name, -4, ({ db }, args) => {
    const [first, last] = isReverse ? [args[3]!, args[2]!] : [args[2]!, args[3]!]
    const [low, high] = [parseEnd(first, false), parseEnd(last, true)]
    let count = -1
    for (let at = 4; at < args.length; at += 2) {
      if (args[at]!.toUpperCase() !== 'COUNT' || at + 1 >= args.length) refuse(SYNTAX)
      count = Math.max(0, integer(args[at + 1]!))
    }
    const stream = db.stream(args[1]!)
    if (count === 0) return stream === undefined ? [] : NO_LIST
    const found = between(stream, low, high)
    const turned = isReverse ? [...found].reverse() : found
    return shown(count === -1 ? turned : turned.slice(0, count))
  })
}

function read({ db }: Caller, args: readonly string[]): Reply | Wait {
  let count = Number.POSITIVE_INFINITY
  let block: number | undefined
  let at = 1
  for (; at < args.length && args[at]!.toUpperCase() !== 'STREAMS'; at += 2) {
    const word = args[at]!.toUpperCase()
    if (at + 1 >= args.length) refuse(SYNTAX)
    if (word === 'COUNT') {
      const wanted = integer(args[at + 1]!)
      count = wanted <= 0 ? Number.POSITIVE_INFINITY : wanted
    } else if (word === 'BLOCK') {
      block = integer(args[at + 1]!, 'ERR timeout is not an integer or out of range')
      if (block < 0) refuse('ERR timeout is negative')
    } else refuse(SYNTAX)
  }
  const names = args.slice(at + 1)
  if (at >= args.length) refuse(SYNTAX)
  if (names.length === 0 || names.length % 2 === 1) {
    refuse("ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.")
  }
  const keys = names.slice(0, names.length / 2)
  const starts = names.slice(names.length / 2).map((text, index) => {
    db.stream(keys[index]!)
    if (text === '$') return db.stream(keys[index]!)?.lastId ?? LEAST_ID
    if (text === '>')
      refuse(
        'ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.',
      )
    return parseId(text, 0n)
  })
  const attempt = () => {
    const flat: Reply[] = []
    for (const [index, key] of keys.entries()) {
      const stream = db.stream(key)
      const from = after(starts[index]!)
      const found = from === undefined ? [] : between(stream, from, GREATEST_ID)
      if (found.length > 0) flat.push(key, shown(found.slice(0, count)))
    }
    return flat.length === 0 ? undefined : new Flat('streams', flat)
  }
  return attempt() ?? (block === undefined ? NO_LIST : new Wait(keys, block * 1_000, attempt, NO_LIST))
}

export const STREAMS: readonly Command[] = [
  grows('xadd', -5, add),
  reads('xlen', 2, ({ db }, args) => db.stream(args[1]!)?.size ?? 0),
  range('xrange', false),
  range('xrevrange', true),
  reads('xread', -4, read),
  writes('xtrim', -4, ({ db }, args) => {
    const { trim } = readOptions(args, false)
    if (trim === undefined) refuse('ERR syntax error, XTRIM must be called with a trimming strategy')
    const stream = db.stream(args[1]!)
    const removed = stream === undefined ? 0 : applyTrim(stream, trim!)
    if (removed > 0) db.touch(args[1]!)
    return removed
  }),
  writes('xdel', -3, ({ db }, args) => {
    const stream = db.stream(args[1]!)
    if (stream === undefined) return 0
    const ids = args.slice(2).map((text) => parseId(text, 0n))
    const removed = ids.filter((id) => stream.delete(id)).length
    if (removed > 0) db.touch(args[1]!)
    return removed
  }),
]
