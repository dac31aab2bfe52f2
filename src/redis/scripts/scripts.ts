import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { messageOf, toError } from '../../core/thrown.ts'
import type { Client } from '../connection/client-profiles.ts'
import { asBackendError } from '../connection/redis-errors.ts'
import { luaKeys, shardKey } from './keys.ts'

/** The verbs, each a file in `lua/` whose header says what it does, what it is given, and all that it may answer. */
const VERBS = [
  'admit',
  'audit',
  'book',
  'cancel',
  'claim',
  'expire',
  'explain',
  'fetch',
  'finish',
  'flow',
  'forecast',
  'fullest',
  'gate',
  'guests',
  'handed',
  'hold',
  'inspect',
  'layout',
  'job',
  'list',
  'meter-drain',
  'meter-fill',
  'meter-read',
  'quarantine',
  'recent',
  'recover',
  'refill',
  'renew',
  'resign',
  'retime',
  'stale',
  'start',
  'tally',
  'time',
  'views',
  'walk',
] as const

export type Verb = (typeof VERBS)[number]

/** Those that answer with bytes, which are no text. */
const IN_BYTES: ReadonlySet<Verb> = new Set(['meter-fill', 'meter-read'])

interface Script {
  readonly text: string
  readonly sha: string
  readonly isOfShard: boolean
}

/** Read once, when this module is loaded: a missing file fails the start, not a call. */
const SCRIPTS = new Map<Verb, Script>(VERBS.map((verb) => [verb, load(verb)]))

/**
 * Runs a verb on one shard, or on one meter: `key` is its first key. Numbers travel as the shortest text that gives the same double.
 *
 * @throws BackendUnavailableError, ForeignValueError; never an error that carries arguments
 */
export async function runScript(
  client: Client,
  verb: Verb,
  key: string,
  values: readonly (string | number)[],
): Promise<unknown> {
  const { sha, text, isOfShard } = SCRIPTS.get(verb)!
  const keys = isOfShard ? keysOfShard(key) : [key]
  const call = IN_BYTES.has(verb) ? 'callBuffer' : 'call'
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

/** A script is its first line, which Redis reads, the names of a shard's keys, the parts that it uses, and itself. */
function load(verb: Verb): Script {
  const [shebang, ...lines] = read(`${verb}.lua`).split('\n')
  const uses = /^-- uses: (.*)$/m.exec(lines.join('\n'))?.[1]
  if (!shebang!.startsWith('#!lua') || uses === undefined) throw new Error(`${verb}.lua has no proper header`)
  const names = uses.split(' ')
  const parts = ['values', ...names].map((part) => read(`lib/${part}.lua`))
  const isOfShard = names.includes('shard')
  const text = [shebang, ...(isOfShard ? [luaKeys()] : []), ...parts, ...lines].join('\n')
  return { text, sha: createHash('sha1').update(text).digest('hex'), isOfShard }
}

function read(path: string): string {
  return readFileSync(new URL(`lua/${path}`, import.meta.url), 'utf8')
}
