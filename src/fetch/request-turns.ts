import { wallClockMs } from '../core/clock.ts'
import { checkKey } from '../core/key.ts'
import { toError } from '../core/thrown.ts'
import type { Costs } from '../core/usage.ts'
import { Freezes } from '../forward/freezes.ts'
import type { ReadHeader } from '../forward/rate-limit-fields.ts'
import { readStayAway } from '../forward/retry-after.ts'
import type { Turn } from '../line/turn.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { AnswerSettling, type BegunAnswer } from './answer-settling.ts'
import type { TurnSettings } from './options.ts'
import type { OutgoingRequest } from './outgoing-request.ts'

/** The part of a Shaper that is needed. Without `report`, errors in settling are warnings of the process. */
export type TurnGiver = Pick<Shaper, 'acquire' | 'freeze'> & Partial<Pick<Shaper, 'report'>>

/** The key of a request's turn, and what it counts. */
export interface RequestTurn {
  readonly key: string
  readonly cost: number
  readonly costs: Costs | undefined
}

/** Makes requests wait for their turns, and freezes keys when responses ask to retry later. */
export class RequestTurns {
  readonly #shaper: TurnGiver
  readonly #settings: TurnSettings
  readonly #freezeOn: ReadonlySet<number>
  readonly #freezes: Freezes
  readonly #settling: AnswerSettling | undefined

  /** @throws InvalidKeyError */
  constructor(shaper: TurnGiver, settings: TurnSettings) {
    if (typeof settings.key === 'string') checkKey(settings.key)
    this.#shaper = shaper
    this.#settings = settings
    this.#freezeOn = new Set(settings.freezeOn)
    this.#freezes = new Freezes(settings.freezeMs, settings.maxFreezeMs)
    const report = (error: Error) => (shaper.report ? shaper.report(error) : process.emitWarning(error))
    this.#settling = settings.settle && new AnswerSettling(settings.settle, report)
  }

  /** Returns the turn of a request. The request is only read if that depends on it. */
  turnOf(read: () => OutgoingRequest): RequestTurn {
    const { key, cost, costs } = this.#settings
    if (typeof key === 'string' && typeof cost === 'number' && typeof costs !== 'function') {
      return { key, cost, costs }
    }
    const request = read()
    return {
      key: typeof key === 'function' ? key(request) : (key ?? request.url.host),
      cost: typeof cost === 'number' ? cost : cost(request),
      costs: typeof costs === 'function' ? costs(request) : costs,
    }
  }

  /** Resolves when the turn has come, which holds its place until it is released; rejects as `acquire` does. */
  async wait({ key, cost, costs }: RequestTurn, signal: AbortSignal | undefined): Promise<Turn> {
    const { timeoutMs, holdMs } = this.#settings
    return this.#shaper.acquire(key, { cost, costs, timeoutMs, holdMs, signal })
  }

  /**
   * Settles a turn with what the answer to its request says. Resolves when that is done, and never rejects; undefined if
   * there is nothing to settle. The turn must not be released before.
   */
  settle(turn: Turn, answer: BegunAnswer): Promise<void> | undefined {
    return this.#settling?.concerns(answer) ? this.#settling.settle(turn, answer) : undefined
  }

  /** Freezes the key if the response asks for it; returns whether it does. */
  async observe(key: string, status: number, header: ReadHeader): Promise<boolean> {
    if (!this.#freezeOn.has(status)) {
      if (status < 500) this.#freezes.succeeded(key)
      return false
    }
    const now = this.#now()
    const forMs = this.#freezes.next(key, readStayAway(header, now), now)
    try {
      await this.#shaper.freeze(key, forMs, { atMostMs: this.#settings.maxFreezeMs })
    } catch {
      // A response arrived, and an error here must not hide it. If the line is unreachable, there are no turns either;
      // and if only this call failed, the next such response freezes the key.
    }
    return true
  }

  /** A failing clock does not hide the response, and the key is frozen all the same. */
  #now(): number {
    try {
      return this.#settings.now()
    } catch (error) {
      process.emitWarning(toError(error))
      return wallClockMs()
    }
  }
}
