import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { messageOf, toError } from '../../core/thrown.ts'
import type { Client } from '../connection/client-profiles.ts'
import { asBackendError } from '../connection/redis-errors.ts'
import { shardKey } from './keys.ts'
import { meterPrelude, shardPrelude } from './prelude.ts'
import { type Read, readReply } from './reply.ts'
import { scriptText } from './script-text.ts'

/** A Lua script and how its reply is read. The header of its file says what it does, takes and answers. */
export interface Script<Reply = unknown> {
  readonly verb: string
  readonly text: string
  readonly sha: string
  /** It works on a shard, whose tag is its first key; otherwise on the one key that it is given. */
  readonly isOfShard: boolean
  /** It returns bytes that are not text. */
  readonly isBinary: boolean
  /** @throws ForeignValueError when the reply has another shape, for example that of another version */
  parse(reply: unknown): Reply
}

/**
 * Loads the script `<verb>.lua` that lies beside a module. It is read once, when that module is loaded: a missing file fails the start,
 * not a call. The text is put together when it is first sent: a process without Redis never needs it.
 *
 * @param module the `import.meta.url` of the module that calls it
 */
export function defineScript<Reply>(
  verb: string,
  module: string,
  reply: Read<Reply>,
  { isBinary = false } = {},
): Script<Reply> {
  const { assemble, isOfShard } = load(verb, module)
  let text: string | undefined
  let sha: string | undefined
  return {
    verb,
    isOfShard,
    isBinary,
    get text() {
      text ??= assemble()
      return text
    },
    get sha() {
      sha ??= createHash('sha1').update(this.text).digest('hex')
      return sha
    },
    parse: (value) => readReply(reply, value),
  }
}

/**
 * Runs a script on one shard, or on one meter: `key` is its first key. Numbers travel as the shortest text that gives the
 * same double.
 *
 * @returns the reply as Redis sent it
 * @throws BackendUnavailableError, ForeignValueError; never an error that carries arguments
 */
export async function runScript(
  client: Client,
  { sha, text, isOfShard, isBinary }: Script,
  key: string,
  values: readonly (string | number | Buffer)[],
): Promise<unknown> {
  const keys = isOfShard ? keysOfShard(key) : [key]
  const call = isBinary ? 'callBuffer' : 'call'
  try {
    return await client[call]('evalsha', sha, keys.length, ...keys, ...values)
  } catch (thrown) {
    if (!messageOf(toError(thrown)).startsWith('NOSCRIPT')) throw asBackendError(thrown)
  }
  try {
    // Redis was restarted, or its scripts were flushed: this loads the script again.
    return await client[call]('eval', text, keys.length, ...keys, ...values)
  } catch (thrown) {
    throw asBackendError(thrown)
  }
}

/**
 * While a cluster moves the slot of a shard, some keys are on one node and some on the other, and no script may run on either.
 * Redis refuses a script (TRYAGAIN) on both nodes when it names two keys of which one is missing: the tag is never a key. With
 * that key alone, the script would be sent to the new node and run on whatever had arrived there.
 */
function keysOfShard(tag: string): readonly string[] {
  return [tag, shardKey(tag, 'meta')]
}

/** Reads a script, whose first line is for Redis; a later one says which libraries it uses. */
function load(verb: string, module: string) {
  const [shebang, ...lines] = read(`${verb}.lua`, module).split('\n')
  const body = lines.join('\n')
  const uses = /^-- uses: (.*)$/m.exec(body)?.[1]
  if (!shebang!.startsWith('#!lua') || uses === undefined) throw new Error(`${verb}.lua has no proper header`)
  const names = uses.split(' ')
  const libraries = librariesOf(names)
  return {
    assemble: () => assembled(shebang!, names, libraries, body),
    isOfShard: isOfShard(names),
  }
}

/** The text of a script with the libraries of these names before it. */
export function withLibraries(shebang: string, names: readonly string[], body: string): string {
  return assembled(shebang, names, librariesOf(names), body)
}

function assembled(
  shebang: string,
  names: readonly string[],
  [values, ...libraries]: readonly string[],
  body: string,
): string {
  return scriptText(
    [
      shebang,
      isOfShard(names) ? shardPrelude({ isReadOnly: shebang.includes('no-writes') }) : meterPrelude(),
      values!,
    ],
    libraries,
    body,
  )
}

/** By name: scripts share libraries. */
const libraryTexts = new Map<string, string>()

function librariesOf(names: readonly string[]): string[] {
  return ['values', ...names].map((name) => {
    const text = libraryTexts.get(name) ?? read(`lib/${name}.lua`, import.meta.url)
    libraryTexts.set(name, text)
    return text
  })
}

function isOfShard(libraries: readonly string[]): boolean {
  return libraries.includes('shard')
}

function read(path: string, module: string): string {
  return readFileSync(new URL(path, module), 'utf8')
}
