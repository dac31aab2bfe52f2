import { badArgument, integerArg, textArg } from './args.ts'
import { type Reader, unpackOne } from './cmsgpack-unpack.ts'
import { fail } from './error.ts'
import { LuaTable, type Value } from './value.ts'

/** The library `cmsgpack`, as Redis has it. */

/** Tables that lie deeper are packed as nil. */
const DEEPEST = 16
const scratch = Buffer.alloc(9)

class Packer {
  text = ''

  value(value: Value, depth: number): void {
    if (typeof value === 'string') this.#string(value)
    else if (typeof value === 'boolean') this.text += value ? '\xc3' : '\xc2'
    else if (typeof value === 'number') this.#number(value)
    else if (value instanceof LuaTable && depth < DEEPEST) this.#table(value, depth)
    else this.text += '\xc0'
  }

  #string(text: string): void {
    const { length } = text
    if (length < 32) this.text += String.fromCharCode(0xa0 | length)
    else this.#head(length, 0xd9, 0xda, 0xdb)
    this.text += text
  }

  /** A length of one, two or four bytes; a kind of 0 does not exist. */
  #head(length: number, one: number, two: number, four: number): void {
    if (length <= 0xff && one !== 0) this.text += String.fromCharCode(one, length)
    else if (length <= 0xffff) this.text += String.fromCharCode(two, length >> 8, length & 0xff)
    else {
      scratch[0] = four
      scratch.writeUInt32BE(length, 1)
      this.#take(5)
    }
  }

  #take(length: number): void {
    this.text += scratch.toString('latin1', 0, length)
  }

  #number(value: number): void {
    const isLong = Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63
    if (isLong) this.#integer(value)
    else if (Math.fround(value) === value) {
      scratch[0] = 0xca
      scratch.writeFloatBE(value, 1)
      this.#take(5)
    } else {
      scratch[0] = 0xcb
      scratch.writeDoubleBE(value, 1)
      this.#take(9)
    }
  }

  #integer(value: number): void {
    if (value >= 0) {
      if (value <= 127) this.text += String.fromCharCode(value)
      else if (value <= 0xffffffff) this.#head(value, 0xcc, 0xcd, 0xce)
      else this.#long(0xcf, value)
    } else if (value >= -32) this.text += String.fromCharCode(value & 0xff)
    else if (value >= -128) this.text += String.fromCharCode(0xd0, value & 0xff)
    else if (value >= -32_768) this.text += String.fromCharCode(0xd1, (value >> 8) & 0xff, value & 0xff)
    else if (value >= -(2 ** 31)) {
      scratch[0] = 0xd2
      scratch.writeInt32BE(value, 1)
      this.#take(5)
    } else this.#long(0xd3, value)
  }

  #long(kind: number, value: number): void {
    scratch[0] = kind
    scratch.writeBigInt64BE(BigInt.asIntN(64, BigInt(value)), 1)
    this.#take(9)
  }

  #table(table: LuaTable, depth: number): void {
    const entries: [Value, Value][] = []
    let most = 0
    let isArray = true
    for (let pair = table.next(undefined); pair; pair = table.next(pair[0])) {
      const [key] = pair
      entries.push([key, pair[1]])
      if (typeof key !== 'number' || !Number.isInteger(key) || key <= 0) isArray = false
      else if (key > most) most = key
    }
    const { length } = entries
    if (isArray && most === length) {
      if (length <= 15) this.text += String.fromCharCode(0x90 | length)
      else this.#head(length, 0, 0xdc, 0xdd)
      for (let at = 1; at <= length; at++) this.value(table.get(at), depth + 1)
      return
    }
    if (length <= 15) this.text += String.fromCharCode(0x80 | length)
    else this.#head(length, 0, 0xde, 0xdf)
    for (const [key, value] of entries) {
      this.value(key, depth + 1)
      this.value(value, depth + 1)
    }
  }
}

function pack(...values: Value[]): string {
  if (values.length === 0) return badArgument(0, 'pack', 'MessagePack pack needs input.')
  const packer = new Packer()
  for (const value of values) packer.value(value, 0)
  return packer.text
}

/** @param limit how many values at most; 0: all. @param from where to begin; the answer then begins with where it ended */
function unpack(name: string, value: Value, limit: number, from: number, saysWhere: boolean): Value[] {
  const text = textArg(value, 1, name)
  if (from < 0 || limit < 0) {
    return fail(`Invalid request to unpack with offset of ${from} and limit of ${text.length}.`)
  }
  if (from > text.length) return fail(`Start offset ${from} greater than input length ${text.length}.`)
  const reader: Reader = { bytes: Buffer.from(text, 'latin1'), text, at: from }
  const values: Value[] = []
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit
  while (reader.at < text.length && values.length < most) values.push(unpackOne(reader))
  if (!saysWhere) return values
  return [reader.at < text.length ? reader.at : -1, ...values]
}

export const CMSGPACK: Readonly<Record<string, Value>> = {
  pack,
  unpack: (text) => unpack('unpack', text, 0, 0, false),
  unpack_one: (text, from) => {
    return unpack('unpack_one', text, 1, from === undefined ? 0 : integerArg(from, 2, 'unpack_one'), true)
  },
  unpack_limit: (text, limit, from) => {
    const most = integerArg(limit, 2, 'unpack_limit')
    return unpack(
      'unpack_limit',
      text,
      most,
      from === undefined ? 0 : integerArg(from, 3, 'unpack_limit'),
      true,
    )
  },
  _NAME: 'cmsgpack',
  _VERSION: 'lua-cmsgpack 0.4.0',
  _COPYRIGHT: 'Copyright (C) 2012, Redis Ltd.',
  _DESCRIPTION: 'MessagePack C implementation for Lua',
}
