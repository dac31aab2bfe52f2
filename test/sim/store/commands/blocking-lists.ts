import { integer, timeout } from '../args.ts'
import { NO_LIST, type Reply, refuse, SYNTAX } from '../reply.ts'
import { type Caller, type Command, grows, Wait, writes } from './command.ts'
import { type End, pop, popMany, push } from './lists.ts'

/** Lists that others are moved to, and commands that wait for lists. */

type Attempt = () => Reply | undefined

/** Tries at once, and waits where there is nothing. */
function orWait(keys: readonly string[], timeout: number, attempt: Attempt, onTimeout: Reply): Reply | Wait {
  return attempt() ?? new Wait(keys, timeout, attempt, onTimeout)
}

function blockingPop(name: string, end: End): Command {
  return writes(name, -3, ({ db }, args) => {
    const keys = args.slice(1, -1)
    const attempt = () => {
      for (const key of keys) {
        const value = pop(db, key, end)
        if (value !== undefined) return [key, value]
      }
      return undefined
    }
    return orWait(keys, timeout(args[args.length - 1]!), attempt, NO_LIST)
  })
}

function mover(db: Caller['db'], from: string, to: string, take: End, give: End): Attempt {
  return () => {
    if (db.list(from) === undefined) return undefined
    db.list(to)
    const value = pop(db, from, take)
    if (value === undefined) return undefined
    push(db, to, give, [value])
    return value
  }
}

function endOf(text: string): End {
  const end = text.toUpperCase()
  return end === 'LEFT' || end === 'RIGHT' ? end : refuse(SYNTAX)
}

/** The part `numkeys key ... LEFT|RIGHT|MIN|MAX [COUNT n]` of commands that pop from the first of several keys. */
export function multiPopArguments(
  args: readonly string[],
  at: number,
  ends: readonly string[],
): { keys: readonly string[]; end: string; count: number } {
  const tooFew = 'ERR numkeys should be greater than 0'
  const length = integer(args[at]!, tooFew)
  if (length <= 0) refuse(tooFew)
  const keys = args.slice(at + 1, at + 1 + length)
  const end = (args[at + 1 + length] ?? refuse(SYNTAX)).toUpperCase()
  if (!ends.includes(end)) refuse(SYNTAX)
  let count: number | undefined
  for (let index = at + 2 + length; index < args.length; index += 2) {
    if (args[index]!.toUpperCase() !== 'COUNT' || count !== undefined || index + 1 >= args.length) {
      refuse(SYNTAX)
    }
    const message = 'ERR count should be greater than 0'
    count = integer(args[index + 1]!, message)
    if (count <= 0) refuse(message)
  }
  return { keys, end, count: count ?? 1 }
}

function multiPop(
  { db }: Caller,
  args: readonly string[],
  at: number,
): { keys: readonly string[]; attempt: Attempt } {
  const { keys, end, count } = multiPopArguments(args, at, ['LEFT', 'RIGHT'])
  const attempt = () => {
    for (const key of keys) {
      const list = db.list(key)
      if (list !== undefined) return [key, popMany(db, key, list, end as End, count)]
    }
    return undefined
  }
  return { keys, attempt }
}

export const BLOCKING_LISTS: readonly Command[] = [
  grows('rpoplpush', 3, ({ db }, args) => mover(db, args[1]!, args[2]!, 'RIGHT', 'LEFT')() ?? null),
  grows('lmove', 5, ({ db }, args) => {
    const [take, give] = [endOf(args[3]!), endOf(args[4]!)]
    return mover(db, args[1]!, args[2]!, take, give)() ?? null
  }),
  writes('lmpop', -4, (caller, args) => multiPop(caller, args, 1).attempt() ?? NO_LIST),
  blockingPop('blpop', 'LEFT'),
  blockingPop('brpop', 'RIGHT'),
  grows('brpoplpush', 4, ({ db }, args) => {
    const within = timeout(args[3]!)
    return orWait([args[1]!], within, mover(db, args[1]!, args[2]!, 'RIGHT', 'LEFT'), null)
  }),
  grows('blmove', 6, ({ db }, args) => {
    const [take, give] = [endOf(args[3]!), endOf(args[4]!)]
    const within = timeout(args[5]!)
    return orWait([args[1]!], within, mover(db, args[1]!, args[2]!, take, give), null)
  }),
  writes('blmpop', -5, (caller, args) => {
    const within = timeout(args[1]!)
    const { keys, attempt } = multiPop(caller, args, 2)
    return orWait(keys, within, attempt, NO_LIST)
  }),
]
