import { fail } from './error.ts'
import { LuaTable, type Value } from './value.ts'

export interface Reader {
  readonly bytes: Buffer
  readonly text: string
  at: number
}

/** Takes one packed value. */
export function unpackOne(reader: Reader): Value {
  const kind = take(reader, 1).bytes[reader.at - 1]!
  if (kind < 0x80) return kind
  if (kind < 0x90) return map(reader, kind & 15)
  if (kind < 0xa0) return array(reader, kind & 15)
  if (kind < 0xc0) return string(reader, kind & 31)
  if (kind >= 0xe0) return kind - 256
  const read = KINDS[kind]
  return read === undefined ? fail('Bad data format in input.') : read(reader)
}

/** Goes on over the next bytes, which must be there. */
function take(reader: Reader, length: number): Reader {
  if (reader.bytes.length - reader.at < length) fail('Missing bytes in input.')
  reader.at += length
  return reader
}

function unsigned(reader: Reader, length: 1 | 2 | 4): number {
  take(reader, length)
  return reader.bytes.readUIntBE(reader.at - length, length)
}

function signed(reader: Reader, length: 1 | 2 | 4): number {
  take(reader, length)
  return reader.bytes.readIntBE(reader.at - length, length)
}

function string(reader: Reader, length: number): string {
  take(reader, length)
  return reader.text.slice(reader.at - length, reader.at)
}

function array(reader: Reader, length: number): LuaTable {
  const table = new LuaTable()
  for (let key = 1; key <= length; key++) table.set(key, unpackOne(reader))
  return table
}

function map(reader: Reader, length: number): LuaTable {
  const table = new LuaTable()
  for (let count = 0; count < length; count++) {
    const key = unpackOne(reader)
    const value = unpackOne(reader)
    if (key === undefined) fail('table index is nil')
    table.set(key, value)
  }
  return table
}

const KINDS: Readonly<Record<number, (reader: Reader) => Value>> = {
  192: () => undefined,
  194: () => false,
  195: () => true,
  202: (reader) => take(reader, 4).bytes.readFloatBE(reader.at - 4),
  203: (reader) => take(reader, 8).bytes.readDoubleBE(reader.at - 8),
  204: (reader) => unsigned(reader, 1),
  205: (reader) => unsigned(reader, 2),
  206: (reader) => unsigned(reader, 4),
  207: (reader) => Number(take(reader, 8).bytes.readBigUInt64BE(reader.at - 8)),
  208: (reader) => signed(reader, 1),
  209: (reader) => signed(reader, 2),
  210: (reader) => signed(reader, 4),
  211: (reader) => Number(take(reader, 8).bytes.readBigInt64BE(reader.at - 8)),
  217: (reader) => string(reader, unsigned(reader, 1)),
  218: (reader) => string(reader, unsigned(reader, 2)),
  219: (reader) => string(reader, unsigned(reader, 4)),
  220: (reader) => array(reader, unsigned(reader, 2)),
  221: (reader) => array(reader, unsigned(reader, 4)),
  222: (reader) => map(reader, unsigned(reader, 2)),
  223: (reader) => map(reader, unsigned(reader, 4)),
}
