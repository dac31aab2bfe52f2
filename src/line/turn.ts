import { MINUTE } from '../core/duration.ts'
import { UnknownUnitError } from '../core/errors.ts'
import type { Costs } from '../core/usage.ts'
import type { Awaitable } from './awaitable.ts'
import { readAmounts, type Settle } from './settle.ts'

/** How long a turn may hold its place and be settled where nothing else is said; microseconds. */
export const DEFAULT_HOLD = 10 * MINUTE

/** What a line does for a turn that has departed. */
export interface TurnPorts {
  readonly settle: Settle
  /** Gives its place back; returns whether it held one until now. Never rejects. */
  release(): Awaitable<boolean>
}

/**
 * A turn that has departed. Where the limit says how many may be at once, it holds one of their places until it is released:
 * `await using turn = await shaper.acquire(key)`.
 */
export interface Turn extends Departure, AsyncDisposable {
  readonly accepted: true
  /**
   * Units of the request's `costs` that no quota of the key's limit counts as the turn departs: a typing error, or a limit that is
   * to change. Absent where all count.
   */
  readonly uncounted?: readonly string[]
  /**
   * Says what this turn really counts, as `job.settle` does: until it is released, or its `holdMs` are over.
   *
   * @throws (rejects) UnknownUnitError for a unit that the limit does not count, InvalidOptionsError
   */
  settle(amounts: Costs): Promise<boolean>
  /**
   * Gives its place back, so that another may depart; safe to call twice. Resolves to whether it held one until now: false where
   * its limit has no places, and where its `holdMs` or, on Redis, its lease was over.
   */
  release(): Promise<boolean>
}

interface Departure {
  readonly key: string
  readonly cost: number
  /** Milliseconds since the epoch, by the clock of the line. */
  readonly departedAt: number
  readonly waitedMs: number
  /** Grows with every departure of the key: a receiver may refuse one smaller than it has seen of that key. */
  readonly fence: number
}

export class DepartedTurn implements Turn {
  readonly accepted = true
  readonly key: string
  readonly cost: number
  readonly departedAt: number
  readonly waitedMs: number
  readonly fence: number
  readonly #ports: TurnPorts | undefined

  /** @param ports absent where the limit has nothing to settle or to release */
  constructor({ key, cost, departedAt, waitedMs, fence }: Departure, ports: TurnPorts | undefined) {
    this.key = key
    this.cost = cost
    this.departedAt = departedAt
    this.waitedMs = waitedMs
    this.fence = fence
    this.#ports = ports
  }

  async settle(amounts: Costs): Promise<boolean> {
    const read = readAmounts(amounts)
    if (this.#ports === undefined) throw new UnknownUnitError(this.key, Object.keys(read)[0]!, [])
    return this.#ports.settle(read)
  }

  async release(): Promise<boolean> {
    return (await this.#ports?.release()) ?? false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}
