import { monotonicNow } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import type { Client } from './client-profiles.ts'

/** The share of maxmemory from which on nobody is admitted, so that those who wait can still leave. */
const WATERMARK = 0.85

/**
 * Whether the memory of Redis is nearly full, as of a second ago at most while somebody asks. Where Redis does not
 * say, it is not.
 */
export class FullMemory {
  readonly #client: () => Client
  #isFull = false
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(client: () => Client) {
    this.#client = client
  }

  /** The last answer; asks anew in the background when it is old. The first call waits for it. */
  get isFull(): boolean | Promise<boolean> {
    const isFirst = this.#askedAt === Number.NEGATIVE_INFINITY
    if (monotonicNow() - this.#askedAt < SECOND) return this.#isFull
    this.#askedAt = monotonicNow()
    const asked = this.#ask()
    return isFirst || this.#isFull ? asked : this.#isFull
  }

  async #ask(): Promise<boolean> {
    try {
      const client = this.#client()
      const servers = 'nodes' in client ? client.nodes('master') : [client]
      const infos = await Promise.all(servers.map((server) => server.info('memory')))
      this.#isFull = infos.some(isNearlyFull)
    } catch {
      // Whoever is admitted next finds out for himself whether Redis is there.
    }
    return this.#isFull
  }
}

function isNearlyFull(info: string): boolean {
  const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
  const most = Number(/^maxmemory:(\d+)/m.exec(info)?.[1])
  return most > 0 && used > most * WATERMARK
}
