import { Alarm } from '../../core/alarm.ts'
import { systemClock } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import { OutageReports } from '../connection/outage-reports.ts'
import { retryDelay } from '../connection/retry-delay.ts'
import type { HandedTurn } from './inboxes.ts'
import type { ReceiveOptions, Receiver } from './transport.ts'

/** After a wait without result it asks again, so that a dead connection is noticed. */
const LONGEST_WAIT = 5 * SECOND

/** Waits for turns that are handed over in a shard; resolves with none when none came. */
export type NextTurns = (shard: number, atMost: number) => Promise<readonly HandedTurn[]>

/**
 * Receives the turns that are handed over to this process. A turn that is lost on the way comes again when its lease ends.
 */
export class TurnInbox implements Receiver {
  readonly #next: NextTurns
  readonly #options: ReceiveOptions
  readonly #outages: OutageReports
  readonly #loops: readonly Promise<void>[]
  /** One for each shard. */
  readonly #pauses: readonly Alarm[]
  #isStopped = false

  constructor(shards: number, next: NextTurns, options: ReceiveOptions) {
    this.#next = next
    this.#options = options
    this.#outages = new OutageReports(options.onError)
    this.#pauses = Array.from({ length: shards }, () => new Alarm(systemClock, Number.POSITIVE_INFINITY))
    this.#loops = this.#pauses.map((pause, shard) => this.#loop(shard, pause))
  }

  /** Ends the pauses; waits in the store end when the owner of their connection closes it. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const pause of this.#pauses) pause.ring()
  }

  async close(): Promise<void> {
    await Promise.all(this.#loops)
  }

  async #loop(shard: number, pause: Alarm): Promise<void> {
    for (let failures = 0; !this.#isStopped; ) {
      try {
        const turns = await this.#next(shard, LONGEST_WAIT)
        failures = 0
        this.#outages.over()
        for (const turn of turns) void this.#options.onDelivery({ ...turn, shard })
      } catch (error) {
        if (this.#isStopped) return
        this.#outages.report(error)
        await pause.sleep(systemClock.now() + retryDelay(++failures))
      }
    }
  }
}
