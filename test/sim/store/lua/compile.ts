import { compileFunction } from 'node:vm'
import { ListWalk, walkList, walkPairs } from './base-library.ts'
import { CHUNK, fail } from './error.ts'
import { generate } from './generate.ts'
import * as operators from './operators.ts'
import { parse } from './parser.ts'
import { LuaTable, NIL, type Result, type Value } from './value.ts'

/** A script that was translated: runs with its keys and arguments. */
export type Chunk = (keys: LuaTable, args: LuaTable) => Result

/**
 * Translates a script to JavaScript, with what its global names stand for.
 *
 * @param leavesNothing nothing of a run can be seen by the next one; default: false
 * @throws LuaSyntaxError
 */
export function compile(source: string, globals: LuaTable, { leavesNothing = false } = {}): Chunk {
  const surroundings = {
    has: (name: string) => globals.get(name) !== undefined,
    isFunction: (path: string) => typeof find(globals, path) === 'function',
  }
  const { code, names } = generate(parse(source), surroundings, { leavesNothing })
  const runtime = {
    ...operators,
    LuaTable,
    ListWalk,
    NIL,
    walkPairs,
    walkList,
    noGlobal: (name: string) => fail(`Script attempted to access nonexistent global variable '${name}'`),
    setGlobal: () => fail('Attempt to modify a readonly table'),
  }
  const make = compileFunction(code, ['R', ...names.map((name) => `G_${name.replace('.', '_')}`)], {
    filename: CHUNK,
  })
  return make(runtime, ...names.map((name) => find(globals, name))) as Chunk
}

/** Of a name, or of a library and a name in it. */
function find(globals: LuaTable, path: string): Value {
  const [name, part] = path.split('.')
  const value = globals.get(name)
  return part !== undefined && value instanceof LuaTable ? value.get(part) : value
}
