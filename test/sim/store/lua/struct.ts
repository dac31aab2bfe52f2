import { badArgument, integerOr, numberArg, textArg } from './args.ts'
import { fail } from './error.ts'
import { gapBefore, type Part, partsOf } from './struct-format.ts'
import type { Result, Value } from './value.ts'

/** The library `struct`, as Redis has it. */

let scratch = Buffer.alloc(4_096)

/** Room for that many bytes after the first `used`. */
function reserve(used: number, more: number): void {
  if (used + more <= scratch.length) return
  const larger = Buffer.alloc(Math.max(used + more, scratch.length * 2))
  scratch.copy(larger, 0, 0, used)
  scratch = larger
}

function pack(...args: Value[]): string {
  const parts = partsOf(textArg(args[0], 1, 'pack'), 'pack')
  let at = 0
  let taken = 1
  for (const part of parts) {
    const gap = gapBefore(at, part)
    reserve(at, gap + part.size)
    for (let count = 0; count < gap; count++) scratch[at++] = 0
    const value = args[taken]
    switch (part.option) {
      case 'x':
        scratch[at++] = 0
        continue
      case 'd':
        writeDouble(numberArg(value, taken + 1, 'pack'), at, part.isLittle)
        break
      case 'f':
        writeFloat(numberArg(value, taken + 1, 'pack'), at, part.isLittle)
        break
      case 's':
      case 'c':
        at = writeText(textArg(value, taken + 1, 'pack'), at, part, taken + 2)
        taken++
        continue
      default:
        writeInteger(numberArg(value, taken + 1, 'pack'), at, part)
    }
    at += part.size
    taken++
  }
  return scratch.toString('latin1', 0, at)
}

function writeDouble(value: number, at: number, isLittle: boolean): void {
  if (isLittle) scratch.writeDoubleLE(value, at)
  else scratch.writeDoubleBE(value, at)
}

function writeFloat(value: number, at: number, isLittle: boolean): void {
  if (isLittle) scratch.writeFloatLE(value, at)
  else scratch.writeFloatBE(value, at)
}

function writeText(text: string, at: number, { option, size }: Part, position: number): number {
  const length = size === 0 ? text.length : size
  if (text.length < length) badArgument(position, 'pack', 'string too short')
  reserve(at, length + 1)
  scratch.write(text, at, length, 'latin1')
  if (option === 'c') return at + length
  scratch[at + length] = 0
  return at + length + 1
}

function writeInteger(value: number, at: number, { size, isLittle }: Part): void {
  if (size <= 4 && isLittle && value >= 0 && value < 2 ** 32) {
    let rest = Math.trunc(value)
    for (let index = 0; index < size; index++) {
      scratch[at + index] = rest & 0xff
      rest >>>= 8
    }
    return
  }
  let rest = toUnsigned(value)
  for (let index = 0; index < size; index++) {
    scratch[isLittle ? at + index : at + size - 1 - index] = Number(rest & 0xffn)
    rest >>= 8n
  }
}

/** As C casts a double to an integer of 64 bits. */
function toUnsigned(value: number): bigint {
  const isFitting = value >= -(2 ** 63) && value < 2 ** 64
  return isFitting ? BigInt.asUintN(64, BigInt(Math.trunc(value))) : value >= 2 ** 64 ? 0n : 2n ** 63n
}

function unpack(...args: Value[]): Value[] {
  const format = textArg(args[0], 1, 'unpack')
  const data = textArg(args[1], 2, 'unpack')
  const parts = partsOf(format, 'unpack')
  let at = integerOr(args[2], 1, 3, 'unpack') - 1
  if (at < 0) return badArgument(3, 'unpack', 'offset must be 1 or greater')
  reserve(0, data.length)
  scratch.write(data, 0, data.length, 'latin1')
  const values: Value[] = []
  for (const part of parts) {
    at += gapBefore(at, part)
    assertRoom(data, at, part.size)
    const { isLittle } = part
    switch (part.option) {
      case 'x':
        break
      case 'd':
        values.push(isLittle ? scratch.readDoubleLE(at) : scratch.readDoubleBE(at))
        break
      case 'f':
        values.push(isLittle ? scratch.readFloatLE(at) : scratch.readFloatBE(at))
        break
      case 's': {
        const end = data.indexOf('\0', at)
        if (end === -1) return fail('unfinished string in data')
        values.push(data.slice(at, end))
        at = end + 1
        break
      }
      case 'c': {
        const length = part.size === 0 ? lengthBefore(values) : part.size
        assertRoom(data, at, length)
        values.push(data.slice(at, at + length))
        if (part.size === 0) at += length
        break
      }
      default:
        values.push(readInteger(at, part))
    }
    at += part.size
  }
  values.push(at + 1)
  return values
}

function assertRoom(data: string, at: number, size: number): void {
  if (size < 0 || at + size > data.length) badArgument(2, 'unpack', 'data string too short')
}

/** `c0` takes the length that was read just before, which is no value then. */
function lengthBefore(values: Value[]): number {
  const length = values.pop()
  return typeof length === 'number' ? length : fail("format `c0' needs a previous size")
}

function readInteger(at: number, { option, size, isLittle }: Part): number {
  const isSigned = option === option.toLowerCase()
  if (size <= 6 && size > 0) {
    if (isLittle) return isSigned ? scratch.readIntLE(at, size) : scratch.readUIntLE(at, size)
    return isSigned ? scratch.readIntBE(at, size) : scratch.readUIntBE(at, size)
  }
  let value = 0n
  for (let index = 0; index < size; index++) {
    const byte = scratch[isLittle ? at + size - 1 - index : at + index]!
    value = BigInt.asUintN(64, (value << 8n) | BigInt(byte))
  }
  return Number(isSigned ? BigInt.asIntN(Math.min(64, size * 8), value) : value)
}

function size(format: Value): Result {
  let at = 0
  for (const part of partsOf(textArg(format, 1, 'size'), 'size')) {
    at += gapBefore(at, part)
    if (part.option === 's') return badArgument(1, 'size', 'variable-size format in size')
    if (part.option === 'c' && part.size === 0)
      return badArgument(1, 'size', 'variable-length format in size')
    at += part.size
  }
  return at
}

export const STRUCT = { pack, unpack, size }
