import { createHash } from 'node:crypto'
import { tracingChannel } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import { departures, handlerEnds, handoffs, schedulerPasses } from '../../../src/core/diagnostics.ts'
import { ScriptCalls } from '../../../src/redis/scripts/script-calls.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'
import type { PointPlan } from './plans.ts'

/** Verbs of ours at which a process may end: before it asks, when it has asked, when it has the answer. */
const VERBS = ['admit', 'claim', 'gate', 'start', 'finish', 'renew', 'recover', 'fetch'] as const
/** Scripts of BullMQ: those that add, fetch and end what it carries. */
const TRANSPORT = ['addStandardJob', 'moveToActive', 'moveToFinished'] as const
const STEPS = ['before', 'sent', 'after'] as const

/** Every point, by name. Those of producers, and those of workers, which schedule as well. */
export const PRODUCER_POINTS: readonly string[] = STEPS.map((step) => `${step}:admit`)
export const WORKER_POINTS: readonly string[] = [
  ...VERBS.slice(1).flatMap((name) => STEPS.map((step) => `${step}:${name}`)),
  ...[...TRANSPORT, 'batch'].flatMap((name) => [`sent:${name}`, `after:${name}`]),
  'handler called',
  'handler settled',
  'handed over',
  'pass ended',
]

/**
 * Lets this process end or stop itself at a point of its code: from outside, by the channels that the code and its client
 * publish on, and around the one function that calls scripts.
 */
export function armPoint({ point, count, then }: PointPlan, file: HistoryFile): void {
  let left = count
  const reach = (name: string) => {
    if (name !== point || left === 0) return
    left -= 1
    if (left > 0) return
    file.write({ kind: 'note', at: hostNow(), text: `${then} at the point "${name}", passed ${count} times` })
    process.kill(process.pid, then)
  }
  aroundScripts(reach)
  aroundTransport(reach)
  departures.subscribe(() => reach('handler called'))
  handlerEnds.subscribe(() => reach('handler settled'))
  handoffs.subscribe(() => reach('handed over'))
  schedulerPasses.subscribe(() => reach('pass ended'))
}

function aroundScripts(reach: (name: string) => void): void {
  const { send } = ScriptCalls.prototype
  ScriptCalls.prototype.send = function (script, key, values) {
    reach(`before:${script.verb}`)
    const reply = send.call(this, script, key, values)
    // The bytes go out at the end of this turn of the event loop.
    setImmediate(() => reach(`sent:${script.verb}`))
    return reply.then((answer) => {
      reach(`after:${script.verb}`)
      return answer
    })
  }
}

/** What ioredis says of a command that it sends. */
interface CommandTrace {
  readonly command?: string
  readonly args?: readonly unknown[]
}

function aroundTransport(reach: (name: string) => void): void {
  const names = scriptsOfBullMq()
  const nameOf = (message: unknown) => {
    const { command, args = [] } = message as CommandTrace
    return command === 'evalsha' ? names.get(String(args[0])) : undefined
  }
  const channelOf = (channel: string, nameOf: (message: unknown) => string | undefined) => {
    const reachAs = (step: string, message: unknown) => {
      const name = nameOf(message)
      if (name !== undefined) reach(`${step}:${name}`)
    }
    tracingChannel(channel).subscribe({
      start: (message: unknown) => void setImmediate(() => reachAs('sent', message)),
      end: () => undefined,
      asyncStart: () => undefined,
      asyncEnd: (message: unknown) => reachAs('after', message),
      error: () => undefined,
    })
  }
  channelOf('ioredis:command', nameOf)
  // BullMQ adds what is due together in one pipeline.
  channelOf('ioredis:batch', () => 'batch')
}

/** The hash by which BullMQ calls one of its scripts. */
export function hashOfBullMq(script: string): string {
  for (const [hash, name] of scriptsOfBullMq()) if (name === script) return hash
  throw new Error(`expected a script of BullMQ, got: ${script}`)
}

/** The names of its scripts by their hashes: its package has them as text. */
function scriptsOfBullMq(): Map<string, string> {
  const require = createRequire(import.meta.url)
  const texts = require(`${require.resolve('bullmq').replace(/cjs\/.*$/, 'cjs')}/scripts`) as Record<
    string,
    { readonly name: string; readonly content: string }
  >
  return new Map(
    Object.values(texts).map(({ name, content }) => [
      createHash('sha1').update(content).digest('hex'),
      name.replace(/-\d+$/, ''),
    ]),
  )
}
