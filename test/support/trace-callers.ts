import type { Redis } from 'ioredis'
import type { RedisBackend } from '../../src/redis/redis-backend.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { isTurnId } from './turn-id.ts'

const COUNT = 2

/** The processes of a trace whose callers wait for turns. One that dies is followed by another. */
export class TraceCallers {
  /** Turns that were asked for by processes that live, and whose callers have neither left nor departed. */
  readonly waiting = new Set<string>()
  readonly #backend: RedisBackend
  readonly #redis: Redis
  readonly #names = Array.from({ length: COUNT }, (_, index) => `c${index}`)
  #deaths = 0

  constructor(backend: RedisBackend, redis: Redis) {
    this.#backend = backend
    this.#redis = redis
  }

  get alive(): readonly string[] {
    return this.#names
  }

  named(which: number): string {
    return this.#names[which % COUNT]!
  }

  /** The id of a turn of one of them. */
  ask(which: number, number: number): string {
    const id = `~${this.named(which)}~${number}`
    this.waiting.add(id)
    return id
  }

  waitingOf(caller: string): string[] {
    return [...this.waiting].filter((id) => callerOf(id) === caller)
  }

  /** Answers the name of the one that died. */
  kill(which: number): string {
    const caller = this.named(which)
    for (const id of this.waitingOf(caller)) this.waiting.delete(id)
    this.#names[which % COUNT] = `c${which % COUNT}-${++this.#deaths}`
    return caller
  }

  /** What lies in the inboxes of those that live. */
  async fetch(): Promise<(HandedJob & { readonly key: string })[]> {
    const turns = await Promise.all(
      this.#names.map(async (caller) => {
        // Waiting for what is not there takes its time.
        const isThere = await this.#redis.exists(`${this.#backend.store.tags[0]!}:inbox:${caller}`)
        return isThere === 1 ? this.#backend.inboxes.next(0, caller, 1_000) : []
      }),
    )
    return turns.flat()
  }
}

export function callerOf(id: string): string | undefined {
  return isTurnId(id) ? id.split('~')[1] : undefined
}
