import { monotonicNow } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import type { Client } from './client-profiles.ts'
import { commandWithin } from './patience.ts'

/** The share of maxmemory from which on nobody is admitted, so that those who wait can still leave. */
const WATERMARK = 0.85

/**
 * Whether the memory of Redis is nearly full, as of a second ago or so while somebody asks; nobody waits for the
 * answer. Where Redis does not say, it is not.
 */
export class FullMemory {
  readonly #client: () => Client
  #isFull = false
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(client: () => Client) {
    this.#client = client
  }

  /** The last answer; asks anew in the background when it is old. */
  get isFull(): boolean {
    if (monotonicNow() - this.#askedAt >= SECOND) void this.ask()
    return this.#isFull
  }

  async ask(): Promise<void> {
    this.#askedAt = monotonicNow()
    try {
      const client = this.#client()
      const servers = 'nodes' in client ? client.nodes('master') : [client]
      const infos = await commandWithin(Promise.all(servers.map((server) => server.info('memory'))))
      this.#isFull = infos.some(isNearlyFull)
    } catch {
      // Whoever is admitted next finds out for himself whether Redis is there.
    }
  }
}

function isNearlyFull(info: string): boolean {
  const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
  const most = Number(/^maxmemory:(\d+)/m.exec(info)?.[1])
  return most > 0 && used > most * WATERMARK
}
