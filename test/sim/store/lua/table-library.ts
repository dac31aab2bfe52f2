import { badArgument, integerArg, integerOr, tableArg, textArg } from './args.ts'
import { fail } from './error.ts'
import { numberText } from './numbers.ts'
import { callee, first, less, truth } from './operators.ts'
import { type LuaFunction, type LuaTable, typeName, type Value } from './value.ts'

function insert(...args: Value[]): readonly Value[] {
  const table = tableArg(args[0], 1, 'insert')
  if (table.isReadOnly) fail('Attempt to modify a readonly table')
  const end = table.length + 1
  if (args.length === 2) {
    table.set(end, args[1])
    return []
  }
  if (args.length !== 3) fail("wrong number of arguments to 'insert'")
  const at = integerArg(args[1], 2, 'insert')
  const last = Math.max(end, at)
  for (let index = last; index > at; index--) table.set(index, table.get(index - 1))
  table.set(at, args[2])
  return []
}

function remove(value: Value, position: Value): Value | readonly Value[] {
  const table = tableArg(value, 1, 'remove')
  if (table.isReadOnly) return fail('Attempt to modify a readonly table')
  const end = table.length
  const at = integerOr(position, end, 2, 'remove')
  if (!(at >= 1 && at <= end)) return []
  const removed = table.get(at)
  for (let index = at; index < end; index++) table.set(index, table.get(index + 1))
  table.set(end, undefined)
  return removed === undefined ? [undefined] : removed
}

const concat: LuaFunction = (value, separator, from, to) => {
  const table = tableArg(value, 1, 'concat')
  const between = separator === undefined ? '' : textArg(separator, 2, 'concat')
  const start = integerOr(from, 1, 3, 'concat')
  const end = to === undefined ? table.length : integerArg(to, 4, 'concat')
  const parts: string[] = []
  for (let index = start; index <= end; index++) {
    const part = table.get(index)
    if (typeof part === 'string') parts.push(part)
    else if (typeof part === 'number') parts.push(numberText(part))
    else fail(`invalid value (${typeName(part)}) at index ${index} in table for 'concat'`)
  }
  return parts.join(between)
}

/** Lua's own order of comparisons is a quicksort's; a script can see it only when its function is not an order. */
const sort: LuaFunction = (value, compare) => {
  const table = tableArg(value, 1, 'sort')
  if (compare !== undefined && typeof compare !== 'function') {
    return badArgument(2, 'sort', `function expected, got ${typeName(compare)}`)
  }
  if (table.isReadOnly) return fail('Attempt to modify a readonly table')
  const isLess =
    compare === undefined ? less : (one: Value, other: Value) => truth(first(callee(compare)(one, other)))
  const { length } = table
  const values: Value[] = []
  for (let index = 1; index <= length; index++) values.push(table.get(index))
  // Array.prototype.sort puts undefined last without asking.
  if (values.includes(undefined)) return fail('invalid order function for sorting')
  values.sort((one, other) => (isLess(one, other) ? -1 : isLess(other, one) ? 1 : 0))
  for (const [index, sorted] of values.entries()) table.set(index + 1, sorted)
  return undefined
}

function greatestKey(table: LuaTable): number {
  let most = 0
  for (let pair = table.next(undefined); pair; pair = table.next(pair[0])) {
    if (typeof pair[0] === 'number' && pair[0] > most) most = pair[0]
  }
  return most
}

export const TABLE: Readonly<Record<string, LuaFunction>> = {
  insert,
  remove,
  concat,
  sort,
  getn: (value) => tableArg(value, 1, 'getn').length,
  maxn: (value) => greatestKey(tableArg(value, 1, 'maxn')),
  foreach: (value, visit) => {
    const table = tableArg(value, 1, 'foreach')
    for (let pair = table.next(undefined); pair; pair = table.next(pair[0])) {
      const answer = first(callee(visit)(...pair))
      if (answer !== undefined) return answer
    }
    return undefined
  },
  foreachi: (value, visit) => {
    const table = tableArg(value, 1, 'foreachi')
    for (let index = 1; index <= table.length; index++) {
      const answer = first(callee(visit)(index, table.get(index)))
      if (answer !== undefined) return answer
    }
    return undefined
  },
}
