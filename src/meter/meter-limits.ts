import { describe } from '../core/describe.ts'
import { InvalidLimitError } from '../core/errors.ts'
import { type Limit, type LimitInput, parseMeterLimit } from '../core/limit.ts'
import { parseOwnMeterLimit } from '../core/meter-limit.ts'
import { RuleBook } from '../core/rule-book.ts'

/** A rule book that somebody else keeps and may change at any time, such as `shaper.limits`. */
export interface LimitSource {
  /** The rule that governs the key, its limit as text. @throws NoLimitError when none does */
  resolve(key: string): { readonly pattern: string; readonly limit: string }
}

/** By pattern, or as another keeps it. */
export type MeterLimitsInput = Readonly<Record<string, LimitInput>> | LimitSource

export interface MeterRule {
  readonly pattern: string
  readonly limit: Pick<Limit, 'capacity' | 'interval'>
}

/** Says which limit governs a key, as of now. */
export interface MeterLimits {
  /** @throws NoLimitError when none does: a key without a limit is never unlimited */
  resolve(key: string): MeterRule
}

/** @throws InvalidLimitError or InvalidKeyError */
export function openMeterLimits(input: MeterLimitsInput): MeterLimits {
  return isSource(input) ? new FollowedLimits(input) : new RuleBook(input, parseOwnMeterLimit)
}

/** A pattern may be called `resolve`, but no limit is a function. */
function isSource(input: MeterLimitsInput): input is LimitSource {
  return typeof input === 'object' && input !== null && typeof input.resolve === 'function'
}

/** There are as many texts as rules, and those that the rules had before. */
const MOST_TEXTS = 1_000

/** What a limit needs for a queue beside its capacity and rate is in its text, and means nothing here. */
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

  #parse(text: string): Limit {
    if (typeof text !== 'string') {
      throw new InvalidLimitError(`expected limits.resolve to answer a limit as text, got: ${describe(text)}`)
    }
    const limit = parseMeterLimit(text)
    if (this.#byText.size === MOST_TEXTS) this.#byText.clear()
    this.#byText.set(text, limit)
    return limit
  }
}
