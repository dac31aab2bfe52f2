import { LuaTable, type Result, type Value } from './lua/value.ts'
import { Double, ErrorReply, Flat, NO_LIST, type Reply, Status, Verbatim, Written } from './reply.ts'
import type { Protocol } from './resp-writer.ts'

/** Replies as values of Lua, and values of Lua as replies. */

/** What a script gets from a command. */
export function toLua(reply: Reply, protocol: Protocol): Value {
  if (typeof reply === 'string' || typeof reply === 'number') return reply
  if (typeof reply === 'bigint') return Number(reply)
  if (reply === null || reply === NO_LIST) return protocol === 3 ? undefined : false
  if (typeof reply === 'boolean') return protocol === 3 ? reply : reply ? 1 : 0
  if (reply instanceof Status) return new LuaTable().with('ok', reply.text)
  if (reply instanceof ErrorReply) return errorTable(reply.message)
  if (reply instanceof Double) {
    return protocol === 3 ? new LuaTable().with('double', reply.value) : reply.text
  }
  if (reply instanceof Verbatim) return reply.text
  if (reply instanceof Written) throw new Error('no script runs a transaction')
  if (reply instanceof Flat) return flatToLua(reply, protocol)
  return listToLua(reply, protocol)
}

export function errorTable(message: string): LuaTable {
  return new LuaTable().with('err', message).with('ignore_error_stats_update', true)
}

function listToLua(items: readonly Reply[], protocol: Protocol): LuaTable {
  const list: Value[] = []
  for (const item of items) list.push(toLua(item, protocol))
  return new LuaTable(list)
}

function flatToLua({ kind, items }: Flat, protocol: Protocol): LuaTable {
  if (protocol === 2 && kind !== 'streams') return listToLua(items, protocol)
  if (protocol === 3 && kind !== 'pairs') {
    const table = new LuaTable()
    const step = kind === 'set' ? 1 : 2
    for (let at = 0; at < items.length; at += step) {
      table.set(toLua(items[at]!, protocol), kind === 'set' ? true : toLua(items[at + 1]!, protocol))
    }
    return new LuaTable().with(kind === 'set' ? 'set' : 'map', table)
  }
  const pairs: Value[] = []
  for (let at = 0; at < items.length; at += 2) pairs.push(listToLua(items.slice(at, at + 2), protocol))
  return new LuaTable(pairs)
}

const LEAST = -(2n ** 63n)

/** As C casts a double to an integer. */
function whole(value: number): number | bigint {
  if (!(Math.abs(value) < 2 ** 63)) return LEAST
  const cut = Math.trunc(value)
  return Number.isSafeInteger(cut) ? cut + 0 : BigInt(cut)
}

/** What a client gets from a script. */
export function toReply(result: Result, protocol: Protocol): Reply {
  return valueToReply(Array.isArray(result) ? result[0] : (result as Value), protocol)
}

function valueToReply(value: Value, protocol: Protocol): Reply {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return whole(value)
  if (typeof value === 'boolean') return protocol === 3 ? value : value ? 1 : null
  return value instanceof LuaTable ? tableToReply(value, protocol) : null
}

function tableToReply(table: LuaTable, protocol: Protocol): Reply {
  if (table.map !== undefined && table.map.size > 0) {
    const error = table.get('err')
    if (typeof error === 'string') return new ErrorReply(error.replace(/^-/, ''))
    const status = table.get('ok')
    if (typeof status === 'string') return new Status(status.replace(/[\r\n]/g, ' '))
    const double = table.get('double')
    if (typeof double === 'number') return new Double(double)
    const map = table.get('map')
    if (map instanceof LuaTable) return collected('map', map, protocol)
    const set = table.get('set')
    if (set instanceof LuaTable) return collected('set', set, protocol)
  }
  const items: Reply[] = []
  for (let key = 1; ; key++) {
    const value = table.get(key)
    if (value === undefined) return items
    items.push(valueToReply(value, protocol))
  }
}

function collected(kind: 'map' | 'set', table: LuaTable, protocol: Protocol): Flat {
  const items: Reply[] = []
  for (let pair = table.next(undefined); pair; pair = table.next(pair[0])) {
    items.push(valueToReply(pair[0], protocol))
    if (kind === 'map') items.push(valueToReply(pair[1], protocol))
  }
  return new Flat(kind, items)
}
