import { createHash } from 'node:crypto'
import { BASE } from './lua/base-library.ts'
import { BIT } from './lua/bit.ts'
import { CJSON } from './lua/cjson.ts'
import { CMSGPACK } from './lua/cmsgpack.ts'
import { compile } from './lua/compile.ts'
import { LuaError } from './lua/error.ts'
import { LuaSyntaxError } from './lua/lexer.ts'
import { MATH } from './lua/math-library.ts'
import { exact, numberText } from './lua/numbers.ts'
import { setStringMethods } from './lua/operators.ts'
import { STRING } from './lua/string-library.ts'
import { STRUCT } from './lua/struct.ts'
import { TABLE } from './lua/table-library.ts'
import { LuaTable, type Result, type Value } from './lua/value.ts'
import type { Reply } from './reply.ts'
import type { Protocol } from './resp-writer.ts'
import { errorTable, toLua } from './script-values.ts'

/** What a script that runs asks of its server. */
export interface ScriptHost {
  protocol: Protocol
  /** Runs a command. @throws CommandError */
  command(words: string[]): Reply
}

/** All scripts of all servers share one environment: only one of them runs at a time. */
let host: ScriptHost | undefined

/** Runs `body` for a server, whose commands its script then calls. */
export function withHost<T>(current: ScriptHost, body: () => T): T {
  const before = host
  host = current
  try {
    return body()
  } finally {
    host = before
  }
}

const NO_WORDS = 'ERR Please specify at least one argument for this redis lib call'
const BAD_WORDS = 'ERR Lua redis lib command arguments must be strings or integers'

function run(words: Value[]): Value {
  const { length } = words
  if (length === 0) throw new CallError(NO_WORDS)
  for (let at = 0; at < length; at++) {
    const word = words[at]
    if (typeof word === 'string') continue
    if (typeof word !== 'number') throw new CallError(BAD_WORDS)
    words[at] = exact(word)
  }
  return toLua(host!.command(words as string[]), host!.protocol)
}

/** A call that could not be made. */
class CallError {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

function isRefusal(thrown: unknown): thrown is { message: string } {
  return typeof thrown === 'object' && thrown !== null && !(thrown instanceof Error) && 'message' in thrown
}

function call(...words: Value[]): Value {
  try {
    return run(words)
  } catch (thrown) {
    if (!isRefusal(thrown)) throw thrown
    throw new LuaError(errorTable(thrown.message))
  }
}

function protectedCall(...words: Value[]): Value {
  try {
    return run(words)
  } catch (thrown) {
    if (!isRefusal(thrown)) throw thrown
    return errorTable(thrown.message)
  }
}

/** As Redis reads a message: with its first word as the code, or with ERR before a single one. */
function errorReply(value: Value): Value {
  if (typeof value !== 'string') return wrongReply()
  const message = value.replace(/^-/, '')
  return new LuaTable().with('err', message.includes(' ') ? message : `ERR ${message}`)
}

function wrongReply(): LuaTable {
  return new LuaTable().with('err', 'ERR wrong number or type of arguments')
}

function setProtocol(value: Value): Result {
  if (value !== 2 && value !== 3) throw new LuaError(errorTable('ERR RESP version must be 2 or 3.'))
  host!.protocol = value
  return []
}

const REDIS: Readonly<Record<string, Value>> = {
  call,
  pcall: protectedCall,
  error_reply: errorReply,
  status_reply: (value) => (typeof value === 'string' ? new LuaTable().with('ok', value) : wrongReply()),
  sha1hex: (...values) => {
    if (values.length !== 1) throw new LuaError(errorTable('ERR wrong number of arguments'))
    const [value] = values
    const text = typeof value === 'number' ? numberText(value) : typeof value === 'string' ? value : ''
    return createHash('sha1').update(text, 'latin1').digest('hex')
  },
  setresp: setProtocol,
  log: () => [],
  breakpoint: () => false,
  set_repl: () => [],
  replicate_commands: () => true,
  LOG_DEBUG: 0,
  LOG_VERBOSE: 1,
  LOG_NOTICE: 2,
  LOG_WARNING: 3,
  REPL_NONE: 0,
  REPL_AOF: 1,
  REPL_SLAVE: 2,
  REPL_REPLICA: 2,
  REPL_ALL: 3,
  REDIS_VERSION: '7.0.15',
  REDIS_VERSION_NUM: 0x0007000f,
}

function library(entries: Readonly<Record<string, Value>>): LuaTable {
  const table = new LuaTable()
  for (const [name, value] of Object.entries(entries)) table.with(name, value)
  table.isReadOnly = true
  return table
}

function makeGlobals(): LuaTable {
  const string = library(STRING)
  setStringMethods(string)
  const globals = library({
    ...BASE,
    string,
    table: library(TABLE),
    math: library(MATH),
    cjson: library(CJSON),
    cmsgpack: library(CMSGPACK),
    struct: library(STRUCT),
    bit: library(BIT),
    redis: library(REDIS),
    _VERSION: 'Lua 5.1',
    loadstring: (source) => {
      try {
        const chunk = compile(`${source}`, globals)
        return () => chunk(globals.get('KEYS') as LuaTable, globals.get('ARGV') as LuaTable)
      } catch (error) {
        if (error instanceof LuaSyntaxError) return [undefined, error.message]
        throw error
      }
    },
  })
  globals.with('_G', globals)
  return globals
}

/** What scripts find under global names; no script can change it. */
export const GLOBALS = makeGlobals()
