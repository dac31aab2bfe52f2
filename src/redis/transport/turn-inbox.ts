import { backoffDelay } from '../../core/backoff.ts'
import { SECOND } from '../../core/duration.ts'
import type { HandedTurn } from './inboxes.ts'
import { OutageNews } from './outage-news.ts'
import type { ReceiveOptions, Receiver } from './transport.ts'

const RETRY = { type: 'exponential', delayMs: 50, maxDelayMs: 1_000, jitter: 0.5 } as const
/** After a wait in vain it asks again: a connection that is dead without a word is noticed. */
const LONGEST_WAIT = 5 * SECOND

/** Waits for what was handed over in a shard; resolves with nothing when nothing came. */
export type NextTurns = (shard: number, atMost: number) => Promise<readonly HandedTurn[]>

/**
 * Receives the turns of the callers of this process. One whose news is lost on the way comes again when its lease ends.
 */
export class TurnInbox implements Receiver {
  readonly #next: NextTurns
  readonly #options: ReceiveOptions
  readonly #news: OutageNews
  readonly #loops: readonly Promise<void>[]
  #isStopped = false
  #hurry: (() => void)[] = []

  constructor(shards: number, next: NextTurns, options: ReceiveOptions) {
    this.#next = next
    this.#options = options
    this.#news = new OutageNews(options.onError)
    this.#loops = Array.from({ length: shards }, (_, shard) => this.#loop(shard))
  }

  /** Whoever waits in the store is not called off: his owner closes the connection. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const wake of this.#hurry.splice(0)) wake()
  }

  async close(): Promise<void> {
    await Promise.all(this.#loops)
  }

  async #loop(shard: number): Promise<void> {
    for (let failures = 0; !this.#isStopped; ) {
      try {
        const turns = await this.#next(shard, LONGEST_WAIT)
        failures = 0
        this.#news.over()
        for (const turn of turns) void this.#options.onDelivery({ ...turn, shard })
      } catch (error) {
        if (this.#isStopped) return
        this.#news.tell(error)
        await this.#pause(++failures)
      }
    }
  }

  #pause(failures: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, backoffDelay(RETRY, failures, Math.random()) / 1_000)
      this.#hurry.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
