import type { Words } from './real-and-ours.ts'
import type { RawReply } from './reply-reader.ts'

/** Their items come in an order of their own. */
const UNORDERED: Readonly<Record<string, 1 | 2>> = {
  HGETALL: 2,
  HSCAN: 2,
  ZSCAN: 2,
  HKEYS: 1,
  HVALS: 1,
  KEYS: 1,
  SCAN: 1,
  SMEMBERS: 1,
  SSCAN: 1,
}
/** They say what is of one connection or of one program. */
const OWN: Readonly<Record<string, true>> = { HELLO: true }

/** A time that was given as so many milliseconds or seconds from now is not quite the same on both. */
function withoutClock(reply: string): string {
  const value = /^:\d{10,13}$/.test(reply) ? Number(reply.slice(1)) : Number.NaN
  const now = Date.now()
  return Math.abs(value - now) < 2e8 || Math.abs(value * 1_000 - now) < 2e8 ? ':soon' : reply
}

function comparable([name, ...args]: Words, reply: RawReply | undefined): unknown {
  const command = `${name}`.toUpperCase()
  if (OWN[command] && Array.isArray(reply)) return 'as it is'
  if (command === 'HRANDFIELD') return drawnAlike(args, reply)
  if (typeof reply === 'string') return withoutClock(reply)
  const step = UNORDERED[command]
  return step === undefined || reply === undefined ? reply : sorted(reply, step)
}

/** One that is drawn alone is another in each; of all of them the order is. */
function drawnAlike(args: Words, reply: RawReply | undefined): unknown {
  if (reply === undefined || typeof reply === 'string') return args.length === 1 ? reply?.slice(0, 1) : reply
  return sorted(reply, args.length > 2 ? 2 : 1)
}

function sorted(reply: RawReply, step: 1 | 2): unknown {
  if (typeof reply === 'string') return reply
  const [head, ...items] = reply
  if (items.some((item) => typeof item !== 'string'))
    return [head, ...items.map((item) => sorted(item, step))]
  const groups: string[] = []
  for (let at = 0; at < items.length; at += step) groups.push(items.slice(at, at + step).join('\n'))
  return [head, ...groups.sort()]
}

/** What was queued comes in the reply of EXEC, where the command of a reply is unknown: only its sort is kept. */
export function compare(commands: readonly Words[], replies: readonly RawReply[]): unknown[] {
  return commands.map((words, at) => {
    const reply = replies[at]
    if (`${words[0]}`.toUpperCase() !== 'EXEC' || typeof reply === 'string' || reply === undefined) {
      return comparable(words, reply)
    }
    return reply.map((item) =>
      item.includes('$proto') ? 'as it is' : typeof item === 'string' ? withoutClock(item) : sorted(item, 1),
    )
  })
}
