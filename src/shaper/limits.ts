import type { Backend } from '../backend/backend.ts'
import { NoLimitError } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import { formatLimit, type Limit, type LimitInput } from '../core/limit.ts'
import { parseRule, type Rule } from '../core/rule-book.ts'

/** A rule of the book, with its limit as text. */
export interface RuleView {
  readonly pattern: string
  readonly limit: string
}

/** The live rule book of a shaper. A change reaches the jobs that wait already, at once and without a burst. */
export class LiveRuleBook {
  readonly #backend: Backend
  readonly #onChange: (pattern: string, limit: Limit | undefined) => void

  /** @internal */
  constructor(backend: Backend, onChange: (pattern: string, limit: Limit | undefined) => void) {
    this.#backend = backend
    this.#onChange = onChange
  }

  /** The rule that governs the key. @throws InvalidKeyError, or NoLimitError when none does */
  resolve(key: string): RuleView {
    checkKey(key)
    const rule = this.#backend.findRule(key)
    if (rule === undefined) throw new NoLimitError(key)
    return viewOf(rule)
  }

  /** Every rule. */
  list(): RuleView[] {
    return this.#backend.rules().map(viewOf)
  }

  /** Adds a rule or replaces that of the same pattern. @throws InvalidKeyError or InvalidLimitError */
  async set(pattern: string, limit: LimitInput): Promise<RuleView> {
    const rule = parseRule(pattern, limit)
    this.#backend.setRule(rule)
    this.#onChange(pattern, rule.limit)
    return viewOf(rule)
  }

  /**
   * Removes a rule; false when there was none. Jobs that wait fall to the next rule that matches; where none does
   * they keep the limit they had, and newcomers are refused with NoLimitError.
   */
  async unset(pattern: string): Promise<boolean> {
    checkKey(pattern, 'pattern')
    const existed = this.#backend.unsetRule(pattern)
    if (existed) this.#onChange(pattern, undefined)
    return existed
  }
}

function viewOf({ pattern, limit }: Rule): RuleView {
  return Object.freeze({ pattern, limit: formatLimit(limit) })
}
