import { setTimeout } from 'node:timers/promises'
import { monotonicNow } from '../core/clock.ts'
import { BackendUnavailableError } from '../core/errors.ts'
import { EMPTY } from '../core/meter.ts'
import { type CountedQuotas, usesAt } from '../core/meter-quotas.ts'
import type { Usage } from '../core/usage.ts'
import type { QuotaFilled, QuotaFillRequest } from './meter-store.ts'

/** What a fill brings with it, beside the request. */
export interface Attempt<Kept> {
  /** The time of the store, as far as it is known here: the periods of calendars are to be those of then. */
  readonly now: number
  /** What the store keeps for other windows, and what counts instead, if that is still what it keeps. */
  readonly carried: { readonly kept: Kept; readonly uses: Usage } | undefined
}

/** The fill was not done: the periods were those of another time, or what is kept was counted for other windows. */
export interface AskAgain<Kept> {
  readonly now: number
  readonly kept: Kept
  /** The same, as it was counted. */
  readonly counted: CountedQuotas | undefined
}

/**
 * An answer that asks for something is followed by a call that brings it, unless another process fills by another limit in between.
 * Of two with one limit each, one half of the calls is overtaken where both fill all the time.
 */
const MOST_ATTEMPTS = 50
/** Those that met again and again go on at different times; milliseconds. */
const LONGEST_PAUSE_MS = 4
/** Most fills need no more calls than this. */
const WITHOUT_PAUSE = 2

/**
 * Fills through a store that is asked by scripts or statements, which know no calendar and carry nothing over from other windows:
 * the caller brings both, and the store checks them, by its own clock and by what it keeps.
 */
export class QuotaAttempts<Kept> {
  /** By how much the clock of the store is ahead. */
  #ahead = 0

  /** @throws BackendUnavailableError, and what `ask` throws */
  async fill(
    request: QuotaFillRequest,
    given: number | undefined,
    ask: (attempt: Attempt<Kept>) => Promise<QuotaFilled | AskAgain<Kept>>,
  ): Promise<QuotaFilled> {
    let attempt: Attempt<Kept> = { now: given ?? monotonicNow() + this.#ahead, carried: undefined }
    for (let asked = 0; asked < MOST_ATTEMPTS; asked++) {
      if (asked > WITHOUT_PAUSE) await setTimeout(Math.random() * LONGEST_PAUSE_MS)
      const answer = await ask(attempt)
      const { now } = answer
      if (given === undefined) this.#ahead = now - monotonicNow()
      if ('accepted' in answer) return answer
      const { kept, counted } = answer
      attempt = {
        now,
        carried: counted && { kept, uses: usesAt({ ...EMPTY, counted }, request, now) },
      }
    }
    throw new BackendUnavailableError(
      'the store of the meter is unavailable: the limit of the key differs between processes',
    )
  }
}
