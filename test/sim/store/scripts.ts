import { createHash } from 'node:crypto'
import { type Command, Wait } from './commands/command.ts'
import { textOf } from './lua/base-library.ts'
import { type Chunk, compile } from './lua/compile.ts'
import { asLuaError } from './lua/error.ts'
import { LuaSyntaxError } from './lua/lexer.ts'
import { resetRandom } from './lua/math-library.ts'
import { LuaTable } from './lua/value.ts'
import { ErrorReply, type Reply, refuse } from './reply.ts'
import type { Protocol } from './resp-writer.ts'
import { GLOBALS, type ScriptHost, withHost } from './script-environment.ts'
import { toReply } from './script-values.ts'

interface Script {
  readonly sha: string
  readonly run: Chunk
  /** Undefined without a first line that says what the script may do. */
  readonly flags: ReadonlySet<string> | undefined
}

/** Translated scripts, for all servers: what a script does depends on its text alone. */
const translated = new Map<string, Script>()
const FLAGS: ReadonlySet<string> = new Set([
  'no-writes',
  'allow-oom',
  'allow-stale',
  'no-cluster',
  'allow-cross-slot-keys',
])

/** What a run of a script needs of its server. */
export interface ScriptServer {
  /** Finds a command that scripts may call; 'refused' for one that they may not. */
  scriptCommand(name: string): Command | 'refused' | undefined
  /** Whether the memory was full when the script began. */
  readonly isFull: boolean
  /** The error with which writes are refused; undefined: they are not. */
  readonly refusal: string | undefined
  readonly protocol: Protocol
  run(command: Command, words: readonly string[]): Reply | Wait
}

export class Scripts {
  /** By their hashes; those that were not called yet as texts. */
  readonly #known = new Map<string, Script | string>()

  /** @throws CommandError when it is no Lua */
  load(source: string): Script {
    const script = translate(source)
    this.#known.set(script.sha, script)
    return script
  }

  /** Has scripts from before, which are translated when they are first called. */
  remember(texts: ReadonlyMap<string, string>): void {
    for (const [sha, text] of texts) this.#known.set(sha, text)
  }

  find(sha: string): Script | undefined {
    const known = this.#known.get(sha.toLowerCase())
    return typeof known === 'string' ? this.load(known) : known
  }

  clear(): void {
    this.#known.clear()
  }

  get size(): number {
    return this.#known.size
  }
}

function translate(source: string): Script {
  const known = translated.get(source)
  if (known !== undefined) return known
  const sha = createHash('sha1').update(source, 'latin1').digest('hex')
  const flags = readShebang(source)
  // The line stays, so that the numbers of lines do.
  const text = flags === undefined ? source : source.replace(/^[^\n]*/, '')
  try {
    const script = { sha, flags, run: compile(text, GLOBALS, { leavesNothing: true }) }
    translated.set(source, script)
    return script
  } catch (error) {
    if (!(error instanceof LuaSyntaxError)) throw error
    return refuse(`ERR Error compiling script (new function): ${error.message}`)
  }
}

function readShebang(source: string): ReadonlySet<string> | undefined {
  if (!source.startsWith('#!')) return undefined
  const end = source.indexOf('\n')
  if (end === -1) refuse('ERR Invalid script shebang')
  const [engine, ...options] = source.slice(0, end).split(' ').filter(Boolean)
  if (engine !== '#!lua') refuse(`ERR Unexpected engine in script shebang: ${engine}`)
  const flags = new Set<string>()
  for (const option of options) {
    if (!option.startsWith('flags=')) refuse(`ERR Unknown lua shebang option: ${option}`)
    for (const flag of option.slice('flags='.length).split(',')) {
      if (!FLAGS.has(flag)) refuse(`ERR Unexpected flag in script shebang: ${flag}`)
      flags.add(flag)
    }
  }
  return flags
}

/** Whether a full memory refuses the script before it begins. */
export function needsMemory({ flags }: Script): boolean {
  return flags !== undefined && !flags.has('allow-oom') && !flags.has('no-writes')
}

class Run implements ScriptHost {
  protocol: Protocol = 2
  readonly #server: ScriptServer
  readonly #isReadOnly: boolean
  readonly #mayGrow: boolean
  #hasWritten = false

  constructor(server: ScriptServer, { flags }: Script, isReadOnly: boolean) {
    this.#server = server
    this.#isReadOnly = isReadOnly || flags?.has('no-writes') === true
    this.#mayGrow = !server.isFull || flags?.has('allow-oom') === true
  }

  command(words: string[]): Reply {
    const command = this.#server.scriptCommand(words[0]!)
    if (command === undefined) refuse('ERR Unknown Redis command called from script')
    if (command === 'refused') return refuse('ERR This Redis command is not allowed from script')
    const { arity } = command!
    if (arity > 0 ? words.length !== arity : words.length < -arity) {
      refuse('ERR Wrong number of args calling Redis command from script')
    }
    if (command!.writes) {
      if (this.#isReadOnly) refuse('ERR Write commands are not allowed from read-only scripts.')
      if (this.#server.refusal !== undefined) refuse(this.#server.refusal)
      if (command!.grows && !this.#mayGrow && !this.#hasWritten) {
        refuse("OOM command not allowed when used memory > 'maxmemory'.")
      }
      this.#hasWritten = true
    }
    const reply = this.#server.run(command!, words)
    return reply instanceof Wait ? reply.onTimeout : reply
  }
}

/** Runs a script with its keys and arguments; an error of it is its reply. @throws CommandError */
export function runScript(
  server: ScriptServer,
  script: Script,
  { keys, args, isReadOnly }: { keys: string[]; args: string[]; isReadOnly: boolean },
): Reply {
  if (server.isFull && needsMemory(script)) refuse("OOM command not allowed when used memory > 'maxmemory'.")
  const mayWrite = script.flags !== undefined && !script.flags.has('no-writes')
  if (server.refusal !== undefined && mayWrite) refuse(server.refusal)
  if (isReadOnly && script.flags !== undefined && !script.flags.has('no-writes')) {
    refuse('ERR Can not execute a script with write flag using *_ro command.')
  }
  resetRandom()
  const run = new Run(server, script, isReadOnly)
  const [keyTable, argTable] = [new LuaTable(keys), new LuaTable(args)]
  GLOBALS.with('KEYS', keyTable).with('ARGV', argTable)
  try {
    const result = withHost(run, () => script.run(keyTable, argTable))
    return toReply(result, run.protocol === 3 ? server.protocol : 2)
  } catch (thrown) {
    return failure(thrown, script.sha)
  }
}

/** Redis adds which script it was, and its line where that is known. */
function failure(thrown: unknown, sha: string): ErrorReply {
  const { value, line } = asLuaError(thrown)
  const own = value instanceof LuaTable ? value.get('err') : undefined
  const message = typeof own === 'string' ? own : `ERR ${textOf(value)}`
  const where = line === undefined ? '' : `, on @user_script:${line}.`
  return new ErrorReply(`${message} script: ${sha}${where}`)
}
