import { monotonicNow } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import { BackendUnavailableError } from '../../core/errors.ts'
import type { Client } from './client-profiles.ts'
import { commandWithin } from './patience.ts'

/** From this share of maxmemory on, nothing is admitted, so that waiting jobs can still leave. */
const WATERMARK = 0.85

/**
 * Whether the memory of Redis is nearly full. While it is used, the answer is about a second old; no caller waits for it. Where
 * Redis does not say, memory counts as free.
 */
export class FullMemory {
  readonly #client: () => Client
  #isFull = false
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(client: () => Client) {
    this.#client = client
  }

  /** The last answer; asks again in the background when that is old. */
  get isFull(): boolean {
    if (monotonicNow() - this.#askedAt >= SECOND) void this.ask()
    return this.#isFull
  }

  /** @param what is not done then, such as `no job is admitted` @throws BackendUnavailableError */
  assertRoom(what: string): void {
    if (this.isFull) throw fullMemory(what)
  }

  async ask(): Promise<void> {
    this.#askedAt = monotonicNow()
    try {
      const client = this.#client()
      const servers = 'nodes' in client ? client.nodes('master') : [client]
      const infos = await commandWithin(Promise.all(servers.map((server) => server.info('memory'))))
      this.#isFull = infos.some(isNearlyFull)
    } catch {
      // The next admission finds out whether Redis is there.
    }
  }
}

export function fullMemory(what: string): BackendUnavailableError {
  return new BackendUnavailableError(`Redis is unavailable: 85 % of its memory (maxmemory) is used; ${what}`)
}

function isNearlyFull(info: string): boolean {
  const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
  const most = Number(/^maxmemory:(\d+)/m.exec(info)?.[1])
  return most > 0 && used > most * WATERMARK
}
