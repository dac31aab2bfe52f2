import { NoLimitError } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import { formatLimit, type LimitInput } from '../core/limit.ts'
import { parseRule, type Rule } from '../core/rule-book.ts'
import type { Awaitable } from './awaitable.ts'

/** A rule of the book, with its limit as text. */
export interface RuleView {
  readonly pattern: string
  readonly limit: string
}

/** What keeps the rules. It knows them by heart, so that they are read at once; a change may take a while. */
export interface RuleStore {
  rules(): Rule[]
  /** The rule that governs the key. */
  findRule(key: string): Rule | undefined
  /** Tells listeners of the change, as `unsetRule` does. */
  setRule(rule: Rule): Awaitable<void>
  /** False when there was none. */
  unsetRule(pattern: string): Awaitable<boolean>
}

/** The live rule book of a shaper. A change reaches the jobs that wait already, at once and without a burst. */
export class LiveRuleBook {
  readonly #store: RuleStore

  /** @internal */
  constructor(store: RuleStore) {
    this.#store = store
  }

  /** The rule that governs the key. @throws InvalidKeyError, or NoLimitError when none does */
  resolve(key: string): RuleView {
    checkKey(key)
    const rule = this.#store.findRule(key)
    if (rule === undefined) throw new NoLimitError(key)
    return viewOf(rule)
  }

  /** Every rule. */
  list(): RuleView[] {
    return this.#store.rules().map(viewOf)
  }

  /** Adds a rule or replaces that of the same pattern. @throws InvalidKeyError or InvalidLimitError */
  async set(pattern: string, limit: LimitInput): Promise<RuleView> {
    const rule = parseRule(pattern, limit)
    await this.#store.setRule(rule)
    return viewOf(rule)
  }

  /**
   * Removes a rule; false when there was none. Jobs that wait fall to the next rule that matches; where none does
   * they keep the limit they had, and newcomers are refused with NoLimitError.
   */
  async unset(pattern: string): Promise<boolean> {
    checkKey(pattern, 'pattern')
    return this.#store.unsetRule(pattern)
  }
}

function viewOf({ pattern, limit }: Rule): RuleView {
  return Object.freeze({ pattern, limit: formatLimit(limit) })
}
