import { SECOND } from '../../core/duration.ts'
import { isVelvetRopeError } from '../../core/errors.ts'
import type { Costs } from '../../core/usage.ts'

/**
 * The store remembers an operation for ten seconds, and a call tries for up to four. One that begins so long after the operation was
 * first asked for does not carry it out twice.
 */
const REMEMBERED = 5 * SECOND

/**
 * Asks the store to settle under the name of an operation; false: it says that there is nothing to settle. `isAgain`: the store may have
 * carried it out, and forgotten that.
 */
export type AskToSettle = (amounts: Costs, operation: string, isAgain: boolean) => Promise<boolean>

interface Asked {
  readonly amounts: Costs
  readonly operation: string
  /** When it was first asked for; microseconds. */
  readonly at: number
}

/**
 * Settles a turn that has ended and holds no place. The store has forgotten such a turn, so what was settled is known here alone: the
 * first amounts count, once. Where an answer is missing, the next call asks the same again, until one is there.
 */
export class EndedTurn {
  readonly #ask: AskToSettle
  readonly #charged: ReadonlyMap<string, number>
  readonly #now: () => number
  readonly #newName: () => string
  #asked: Asked | undefined
  #isSettled = false
  /** Ends when the calls so far have ended: each knows what became of those before it. */
  #last: Promise<unknown> = Promise.resolve()

  /**
   * @param charged what the start was charged, as `finish` answers it: of each unit its name, how much, and which count that is in
   * @param now microseconds
   */
  constructor(charged: string, now: () => number, newName: () => string, ask: AskToSettle) {
    this.#charged = chargesIn(charged)
    this.#now = now
    this.#newName = newName
    this.#ask = ask
  }

  /**
   * Resolves to whether these amounts count now.
   *
   * @throws UnknownUnitError
   * @throws BackendUnavailableError it is not known whether they count: the same call may be made again
   */
  settle(amounts: Costs): Promise<boolean> {
    const settled = this.#last.then(() => this.#settle(amounts))
    this.#last = settled.catch(() => undefined)
    return settled
  }

  async #settle(amounts: Costs): Promise<boolean> {
    if (this.#isSettled) return false
    this.#asked ??= { amounts, operation: this.#newName(), at: this.#now() }
    const asked = this.#asked
    const isOld = this.#now() - asked.at > REMEMBERED
    try {
      const isFirst = isOld
        ? await this.#askForMore(asked.amounts)
        : await this.#ask(asked.amounts, asked.operation, false)
      // Where the store has nothing to settle, it may have it for another unit.
      if (isFirst || isOld) this.#isSettled = true
      else this.#asked = undefined
      return isFirst && isSame(asked.amounts, amounts)
    } catch (error) {
      if (isVelvetRopeError(error, 'unknown-unit')) this.#asked = undefined
      throw error
    }
  }

  /**
   * The store may have carried it out and forgotten that. What is less than was charged stays as it is; what is more counts, perhaps
   * twice: that breaks no limit. Totals may have been charged less than the bucket, so the store gets all amounts.
   */
  async #askForMore(amounts: Costs): Promise<boolean> {
    const isFirst = await this.#ask(amounts, this.#newName(), true)
    return (
      isFirst && Object.entries(amounts).some(([unit, amount]) => amount > (this.#charged.get(unit) ?? 0))
    )
  }
}

function chargesIn(text: string): Map<string, number> {
  const charges = new Map<string, number>()
  const words = text.split(' ')
  for (let at = 0; at + 1 < words.length; at += 3) charges.set(words[at]!, Number(words[at + 1]))
  return charges
}

function isSame(some: Costs, others: Costs): boolean {
  const names = Object.keys(some)
  return names.length === Object.keys(others).length && names.every((name) => some[name] === others[name])
}
