import { ListWalk, walkList, walkPairs } from './base-library.ts'
import { Commons } from './commons.ts'
import { CHUNK, fail, runsWithLines } from './error.ts'
import { generate } from './generate.ts'
import * as operators from './operators.ts'
import { parse } from './parser.ts'
import { LuaTable, NIL, type Result } from './value.ts'

/** A script that was translated: runs with its keys and arguments. */
export type Chunk = (keys: LuaTable, args: LuaTable) => Result

const RUNTIME = {
  ...operators,
  LuaTable,
  ListWalk,
  NIL,
  walkPairs,
  walkList,
  noGlobal: (name: string) => fail(`Script attempted to access nonexistent global variable '${name}'`),
  setGlobal: () => fail('Attempt to modify a readonly table'),
}
const known = new WeakMap<LuaTable, Commons>()

/**
 * Translates a script to JavaScript, with what its global names stand for.
 *
 * @param leavesNothing nothing of a run can be seen by the next one; default: false
 * @throws LuaSyntaxError
 */
export function compile(source: string, globals: LuaTable, { leavesNothing = false } = {}): Chunk {
  const commons = known.get(globals) ?? new Commons(globals, RUNTIME)
  known.set(globals, commons)
  const { code, parameters, linesBefore } = generate(parse(source), commons, { leavesNothing })
  const run = commons.run(code, parameters, CHUNK) as Chunk
  if (!leavesNothing) return run
  return (keys, args) => {
    runsWithLines(linesBefore)
    return run(keys, args)
  }
}
