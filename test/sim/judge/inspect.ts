import type { Redis } from 'ioredis'
import { recount } from '../../support/recount.ts'
import type { Scene } from '../actors/scene.ts'
import type { SimProcess } from '../world/process.ts'
import { timers } from '../world/timers.ts'
import type { Failure } from './judge.ts'

/** Recounts what the store holds: counters against lists, lists against states. */
export async function recountAll(scene: Scene): Promise<Failure[]> {
  const redis = {
    eval: async (script: string, count: number, ...words: string[]) =>
      textOf(scene.command('EVAL', script, String(count), ...words)),
  } as unknown as Redis
  const failures: Failure[] = []
  for (let shard = 0; shard < scene.plan.shards; shard++) {
    for (const message of await recount(redis, `{vr:sim:${shard}}`)) {
      failures.push({ law: 'recount', at: scene.world.present, message })
    }
  }
  return failures
}

/** The text of an answer. @throws Error when it is another kind of answer */
function textOf(answer: Buffer): string {
  const end = answer.indexOf('\r\n')
  const head = answer.subarray(0, end).toString()
  if (!head.startsWith('$') || head === '$-1') throw new Error(`expected a text, got ${answer.toString()}`)
  return answer.subarray(end + 2, end + 2 + Number(head.slice(1))).toString()
}

/** Keys of the store that remain for good: what the shards, the rule book and the queues of BullMQ know of themselves. */
const LASTING =
  /^\{vr:sim:\d+\}:(?:meta|book|wake|vacancy|fill|op:.*|rope:(?:meta|id|events|marker|stalled-check))$/
/** What BullMQ holds of deliveries: their records, lists and locks. */
const OF_DELIVERIES = /^\{vr:sim:\d+\}:rope:/

/** What BullMQ lets lie until it looks for stalled deliveries. */
const STALLED = /^(\{vr:sim:\d+\}:rope:)(?:active|stalled|.*_e\d+)$/
/** What Redis drops by itself. */
const LOCK = /^\{vr:sim:\d+\}:rope:.*_e\d+:lock$/
/** BullMQ looks every five seconds; milliseconds. */
export const LOOKS = 60_000

/** What the store still holds of buckets and jobs (L7), and of deliveries. */
export function leftInStore(scene: Scene): { readonly jobs: string[]; readonly deliveries: string[] } {
  const text = scene.command('KEYS', '*').toString()
  const { jobs, deliveries } = leftOf(
    text.split('\r\n').filter((line) => line !== '' && !/^[*$]\d/.test(line)),
  )
  return { jobs, deliveries: deliveries.filter((name) => !waitsForOldTime(scene, name)) }
}

/**
 * Whether a delivery lies until a time by the clock of before it was set back, which Redis keeps: BullMQ finds it when the mark of its
 * last look has passed, and its lock goes at its own time. Both are seconds away where the clock was not set.
 */
function waitsForOldTime(scene: Scene, name: string): boolean {
  if (!scene.plan.faults.some((fault) => fault.kind === 'step' && fault.by < 0)) return false
  const [, queue] = STALLED.exec(name) ?? []
  const timed = queue === undefined ? (LOCK.test(name) ? name : undefined) : `${queue}stalled-check`
  return timed !== undefined && Number(scene.command('PTTL', timed).toString().slice(1)) > LOOKS
}

/** Those of the keys that must not remain. */
export function leftOf(names: readonly string[]): { readonly jobs: string[]; readonly deliveries: string[] } {
  const left = names.filter((name) => !LASTING.test(name)).sort()
  return {
    jobs: left.filter((name) => !OF_DELIVERIES.test(name)),
    deliveries: left.filter((name) => OF_DELIVERIES.test(name)),
  }
}

/** Timers that keep no process alive and are cleared when they are next looked at, such as that of the time limits of handlers. */
const LAZY_TIMERS = 1

/** What a process that has closed still holds. */
export function leftBehind(scene: Scene, processes: readonly SimProcess[]): Failure[] {
  return processes.flatMap((process) => {
    const { live } = timers(process)
    const binding = live.filter((timer) => timer.hasRef())
    const lazy = live.filter((timer) => !timer.hasRef()).slice(LAZY_TIMERS)
    const kept = [...binding, ...lazy].map(({ ms }) => `a timer of ${ms} ms`)
    const open = scene.network.connections(process).map(() => 'a connection')
    return [...kept, ...open].map((what) => {
      return { law: 'close', at: scene.world.present, message: `${process.name} left ${what} behind` }
    })
  })
}
