import { integer } from './args.ts'
import { informationOf } from './information.ts'
import { Flat, OK, type Reply, refuse, SYNTAX, Verbatim } from './reply.ts'
import type { Protocol } from './resp-writer.ts'
import { runScript } from './scripts.ts'
import type { Session } from './session.ts'

/** A command on the session or the server rather than on data. */
export interface SessionCommand {
  readonly arity: number
  /** The arities of its parts, as `client|id`, which are counted with both words. */
  readonly parts?: Readonly<Record<string, number>>
  run(session: Session, args: readonly string[]): Reply
}

function evaluate(isSha: boolean, isReadOnly: boolean): SessionCommand {
  return {
    arity: -3,
    run(session, args) {
      const count = integer(args[2]!)
      if (count > args.length - 3) refuse("ERR Number of keys can't be greater than number of args")
      if (count < 0) refuse("ERR Number of keys can't be negative")
      const { scripts } = session.server
      const script = isSha ? scripts.find(args[1]!) : scripts.load(args[1]!)
      if (script === undefined) return refuse('NOSCRIPT No matching script. Please use EVAL.')
      const keys = args.slice(3, 3 + count)
      return runScript(session, script, { keys, args: args.slice(3 + count), isReadOnly })
    },
  }
}

function script({ server }: Session, args: readonly string[]): Reply {
  const part = args[1]!.toLowerCase()
  switch (part) {
    case 'load':
      return server.scripts.load(args[2]!).sha
    case 'exists':
      return args.slice(2).map((sha) => (server.scripts.find(sha) === undefined ? 0 : 1))
    default:
      if (args.length > 3 || (args.length === 3 && !/^a?sync$/i.test(args[2]!))) {
        refuse('ERR SCRIPT FLUSH only support SYNC|ASYNC option')
      }
      server.scripts.clear()
      return OK
  }
}

function config({ server }: Session, args: readonly string[]): Reply {
  const part = args[1]!.toLowerCase()
  if (part === 'get') {
    return new Flat('map', server.settings.matching(args.slice(2)))
  }
  if (part === 'set') {
    if (args.length % 2 === 1) refuse("ERR wrong number of arguments for 'config|set' command")
    for (let at = 2; at < args.length; at += 2) server.settings.set(args[at]!, args[at + 1]!)
    return OK
  }
  return OK
}

function client(session: Session, args: readonly string[]): Reply {
  const part = args[1]!.toLowerCase()
  switch (part) {
    case 'id':
      return session.id
    case 'getname':
      return session.name === '' ? null : session.name
    case 'setname':
      if (/[^!-~]/.test(args[2]!)) {
        refuse('ERR Client names cannot contain spaces, newlines or special characters.')
      }
      session.name = args[2]!
      return OK
    case 'info':
      return new Verbatim(`${session.description}\n`)
    default:
      return new Verbatim(session.peers.map(({ description }) => `${description}\n`).join(''))
  }
}

function hello(session: Session, args: readonly string[]): Reply {
  const wanted = args[1]
  if (wanted !== undefined) {
    if (!/^\d+$/.test(wanted)) refuse('ERR Protocol version is not an integer or out of range')
    if (wanted !== '2' && wanted !== '3') refuse('NOPROTO unsupported protocol version')
  }
  for (let at = 2; at < args.length; ) {
    const word = args[at]!.toUpperCase()
    if (word === 'SETNAME' && at + 1 < args.length) {
      session.name = args[at + 1]!
      at += 2
    } else if (word === 'AUTH' && at + 2 < args.length) {
      assertPassword(args[at + 1]!)
      at += 3
    } else refuse(`ERR Syntax error in HELLO option '${args[at]!.split('\0')[0]}'`)
  }
  if (wanted !== undefined) session.protocol = Number(wanted) as Protocol
  return new Flat('map', [
    'server',
    'redis',
    'version',
    '7.0.15',
    'proto',
    session.protocol,
    'id',
    session.id,
    'mode',
    'standalone',
    'role',
    'master',
    'modules',
    [],
  ])
}

/** No password is set: the default user comes in with any. */
function assertPassword(user: string): void {
  if (user !== 'default') refuse('WRONGPASS invalid username-password pair or user is disabled.')
}

function authenticate(args: readonly string[]): Reply {
  if (args.length > 3) refuse(SYNTAX)
  if (args.length === 2) {
    refuse(
      'ERR AUTH <password> called without any password configured for the default user. Are you sure your ' +
        'configuration is correct?',
    )
  }
  assertPassword(args[1]!)
  return OK
}

export const SESSION_COMMANDS: Readonly<Record<string, SessionCommand>> = {
  eval: evaluate(false, false),
  evalsha: evaluate(true, false),
  eval_ro: evaluate(false, true),
  evalsha_ro: evaluate(true, true),
  script: { arity: -2, parts: { load: 3, exists: -3, flush: -2 }, run: script },
  config: { arity: -2, parts: { get: -3, set: -4, resetstat: 2 }, run: config },
  client: { arity: -2, parts: { id: 2, getname: 2, setname: 3, info: 2, list: -2 }, run: client },
  hello: { arity: -1, run: hello },
  auth: { arity: -2, run: (_, args) => authenticate(args) },
  info: {
    arity: -1,
    run: ({ server, peers }, args) => new Verbatim(informationOf(server, peers.length, args.slice(1))),
  },
  select: {
    arity: 2,
    run: (session, args) => {
      session.select(integer(args[1]!))
      return OK
    },
  },
  flushall: {
    arity: -1,
    run: ({ server }, args) => {
      if (args.length > 2 || (args.length === 2 && !/^a?sync$/i.test(args[1]!))) refuse(SYNTAX)
      for (const database of server.databases) {
        for (const key of [...database.values.keys()]) database.delete(key)
      }
      return OK
    },
  },
  multi: { arity: 1, run: (session) => session.transaction.begin() },
  exec: { arity: 1, run: (session) => session.transaction.execute() },
  discard: { arity: 1, run: (session) => session.transaction.discard() },
  watch: { arity: -2, run: (session, args) => session.transaction.watch(args.slice(1)) },
  unwatch: { arity: 1, run: (session) => session.transaction.unwatch() },
  quit: {
    arity: -1,
    run: (session) => {
      session.closeAfterReply()
      return OK
    },
  },
}
