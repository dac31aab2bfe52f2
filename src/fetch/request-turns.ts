import { wallClockMs } from '../core/clock.ts'
import { checkKey } from '../core/key.ts'
import { toError } from '../core/thrown.ts'
import { Freezes } from '../forward/freezes.ts'
import type { ReadHeader } from '../forward/rate-limit-fields.ts'
import { readStayAway } from '../forward/retry-after.ts'
import type { Shaper } from '../shaper/shaper.ts'
import type { TurnSettings } from './options.ts'
import type { OutgoingRequest } from './outgoing-request.ts'

/** What is needed of a Shaper. */
export type TurnGiver = Pick<Shaper, 'acquire' | 'freeze'>

/** Where a request stands in line, and how many units it takes. */
export interface Place {
  readonly key: string
  readonly cost: number
}

/** Lets requests wait for their turns, and hears from their answers when the other side wants to be left alone. */
export class RequestTurns {
  readonly #shaper: TurnGiver
  readonly #settings: TurnSettings
  readonly #freezeOn: ReadonlySet<number>
  readonly #freezes: Freezes

  /** @throws InvalidKeyError */
  constructor(shaper: TurnGiver, settings: TurnSettings) {
    if (typeof settings.key === 'string') checkKey(settings.key)
    this.#shaper = shaper
    this.#settings = settings
    this.#freezeOn = new Set(settings.freezeOn)
    this.#freezes = new Freezes(settings.freezeMs, settings.maxFreezeMs)
  }

  /** The place of a request, which is read only if that depends on it. */
  place(read: () => OutgoingRequest): Place {
    const { key, cost } = this.#settings
    if (typeof key === 'string' && typeof cost === 'number') return { key, cost }
    const request = read()
    return {
      key: typeof key === 'function' ? key(request) : (key ?? request.url.host),
      cost: typeof cost === 'number' ? cost : cost(request),
    }
  }

  /** Resolves when the turn has come, and rejects as `acquire` does. */
  async wait({ key, cost }: Place, signal: AbortSignal | undefined): Promise<void> {
    await this.#shaper.acquire(key, { cost, timeoutMs: this.#settings.timeoutMs, signal })
  }

  /** The key is frozen, if the answer asks for that; tells whether it does. */
  async heard(key: string, status: number, header: ReadHeader): Promise<boolean> {
    if (!this.#freezeOn.has(status)) {
      if (status < 500) this.#freezes.succeeded(key)
      return false
    }
    const now = this.#now()
    const forMs = this.#freezes.next(key, readStayAway(header, now), now)
    try {
      await this.#shaper.freeze(key, forMs, { atMostMs: this.#settings.maxFreezeMs })
    } catch {
      // An answer came, and no failure of ours may hide it. A line that cannot be reached gives nobody a turn either;
      // and where only this call failed, the next answer of the kind freezes the key.
    }
    return true
  }

  /** A clock that fails hides no answer, and the key is frozen all the same. */
  #now(): number {
    try {
      return this.#settings.now()
    } catch (error) {
      process.emitWarning(toError(error))
      return wallClockMs()
    }
  }
}
