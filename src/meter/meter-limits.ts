import { describe } from '../core/describe.ts'
import { InvalidLimitError } from '../core/errors.ts'
import { type Limit, type LimitInput, parseCountedLimit } from '../core/limit.ts'
import { parseOwnCountedLimit } from '../core/meter-limit.ts'
import { RuleBook } from '../core/rule-book.ts'

/** A rule book kept elsewhere that may change at any time, such as `shaper.limits`. */
export interface LimitSource {
  /** The rule that applies to the key, with its limit as text. @throws NoLimitError if none does */
  resolve(key: string): { readonly pattern: string; readonly limit: string }
}

/** Limits by pattern, or a rule book. */
export type MeterLimitsInput = Readonly<Record<string, LimitInput>> | LimitSource

export interface MeterRule {
  readonly pattern: string
  readonly limit: Pick<Limit, 'capacity' | 'interval' | 'quotas'>
}

/** Finds the limit that currently applies to a key. */
export interface MeterLimits {
  /**
   * @throws NoLimitError if none does: a key without a limit is never unlimited
   */
  resolve(key: string): MeterRule
  /** All that are known, which of a book kept elsewhere is none. */
  list(): readonly MeterRule[]
}

/** @throws InvalidLimitError or InvalidKeyError */
export function openMeterLimits(input: MeterLimitsInput): MeterLimits {
  return isSource(input) ? new FollowedLimits(input) : new RuleBook(input, parseOwnCountedLimit)
}

/** A pattern may be named `resolve`, but no limit is a function. */
function isSource(input: MeterLimitsInput): input is LimitSource {
  return typeof input === 'object' && input !== null && typeof input.resolve === 'function'
}

/** The most parsed texts in the cache: those of current rules, and of former ones. */
const MOST_TEXTS = 1_000

/** Parts of a limit that only a queue needs are ignored. */
class FollowedLimits implements MeterLimits {
  readonly #source: LimitSource
  readonly #byText = new Map<string, Limit>()

  constructor(source: LimitSource) {
    this.#source = source
  }

  resolve(key: string): MeterRule {
    const { pattern, limit: text } = this.#source.resolve(key)
    return { pattern, limit: this.#byText.get(text) ?? this.#parse(text) }
  }

  list(): readonly MeterRule[] {
    return []
  }

  #parse(text: string): Limit {
    if (typeof text !== 'string') {
      throw new InvalidLimitError(`expected limits.resolve to return a limit as text, got: ${describe(text)}`)
    }
    const limit = parseCountedLimit(text)
    if (this.#byText.size === MOST_TEXTS) this.#byText.clear()
    this.#byText.set(text, limit)
    return limit
  }
}
