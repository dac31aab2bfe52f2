import { z } from 'zod'
import { MILLISECOND } from '../core/duration.ts'
import { NoLimitError } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import {
  type ChangedRules,
  differenceOf,
  type LayeredBook,
  type Override,
  parseLayer,
  type RuleChange,
  type RuleOrigin,
} from '../core/layered-book.ts'
import { formatLimit, type LimitInput } from '../core/limit.ts'
import { parseOptions } from '../core/options.ts'
import { parseRule, type Rule } from '../core/rule-book.ts'
import type { Awaitable } from './awaitable.ts'

/** A rule of the book, with its limit as text. */
export interface RuleView {
  readonly pattern: string
  readonly limit: string
  /** `code` and `file`: the limits that a process was started with, or loaded; `override`: somebody set it by hand. */
  readonly origin: RuleOrigin
  /** Of an override: who set it, if that was told. */
  readonly by?: string
  /** Of an override: when it was set, in milliseconds since the epoch; absent where nobody noted it. */
  readonly at?: number
}

/** What was set by hand, or unset: then without a limit. `by` and `at` are those of a rule. */
export interface OverrideView extends Omit<RuleView, 'limit' | 'origin'> {
  readonly limit?: string
}

/** What a load changed: limits that are new or not the same, and patterns that are gone. */
export interface LoadedRules {
  readonly set: readonly RuleView[]
  readonly unset: readonly string[]
}

const handSchema = z.strictObject({
  /** Who does it, for `list` to show: the name of a token, of an operator. 1 to 256 characters. Default: nobody. */
  by: z
    .string()
    .regex(/^[^\p{Control}\p{Surrogate}]{1,256}$/u, '1 to 256 characters, none of them a control character')
    .optional(),
})
const loadSchema = z.strictObject({
  /** Who says so: the program, or a configuration file that it read. Default: `code`. */
  origin: z.enum(['code', 'file']).default('code'),
})

/** Options of `limits.set` and `limits.unset`. */
export type ByHandOptions = z.input<typeof handSchema>
/** Options of `limits.load`. */
export type LoadOptions = z.input<typeof loadSchema>

/** What keeps the rules. It knows them by heart, so that they are read at once; a change may take a while. */
export interface RuleStore {
  readonly rules: LayeredBook
  /** Tells listeners of each rule whose effect changes. */
  changeRules(change: RuleChange): Awaitable<ChangedRules>
}

/**
 * The live rule book of a shaper. A change reaches the jobs that wait already, at once and without a burst.
 *
 * It has three layers: what code says, what a file says, and what was set or unset by hand; each is whole, and its
 * patterns hide those of the layers below. On a shared line all processes have one book. Whatever they ask of their
 * lines goes by the newest; what `list` and `resolve` tell in a process that asks for nothing follows within a second.
 */
export class LiveRuleBook {
  readonly #store: RuleStore

  /** @internal */
  constructor(store: RuleStore) {
    this.#store = store
  }

  /** The rule that governs the key. @throws InvalidKeyError, or NoLimitError when none does */
  resolve(key: string): RuleView {
    checkKey(key)
    const rule = this.#store.rules.find(key)
    if (rule === undefined) throw new NoLimitError(key)
    return viewOf(rule)
  }

  /** Every rule in force. */
  list(): RuleView[] {
    return this.#store.rules.list().map(viewOf)
  }

  /** Whatever was set or unset by hand, the oldest first. */
  overrides(): OverrideView[] {
    return this.#store.rules.layers.overrides.map(overrideOf)
  }

  /**
   * Sets a rule by hand: adds it, or replaces that of the same pattern. It stays in force whatever code or a file says,
   * until `unset` or `reset`.
   *
   * @throws InvalidKeyError, InvalidLimitError or InvalidOptionsError
   */
  async set(pattern: string, limit: LimitInput, options: ByHandOptions = {}): Promise<RuleView> {
    const { by } = parseOptions(handSchema, options, 'limits.set')
    const rule = parseRule(pattern, limit)
    const { after } = await this.#store.changeRules({ kind: 'set', rule, by })
    return viewOf(after.get(pattern)!)
  }

  /**
   * Removes a rule by hand; false when there was none. What code or a file says of the pattern is out of force until
   * `reset`. Jobs that wait fall to the next rule that matches; where none does they keep the limit they had, and
   * newcomers are refused with NoLimitError.
   */
  async unset(pattern: string, options: ByHandOptions = {}): Promise<boolean> {
    const { by } = parseOptions(handSchema, options, 'limits.unset')
    checkKey(pattern, 'pattern')
    return (await this.#store.changeRules({ kind: 'unset', pattern, by })).isChanged
  }

  /** Drops what was set or unset by hand, so that the layer below governs again; false when nothing was. */
  async reset(pattern: string): Promise<boolean> {
    checkKey(pattern, 'pattern')
    return (await this.#store.changeRules({ kind: 'reset', pattern })).isChanged
  }

  /**
   * What code, or the file, says from now on, all of it: replaces what it said before, at once, and answers what changed
   * in force. The other layers stay, and with them what was set or unset by hand. If one rule is wrong, nothing changes.
   *
   * Of several processes that load, the last one wins, be it older or newer; loading the same again changes nothing. So
   * processes that each load every change of one file, and try again after an error, end with the same limits.
   *
   * @throws InvalidKeyError, InvalidLimitError or InvalidOptionsError
   */
  async load(limits: Readonly<Record<string, LimitInput>>, options: LoadOptions = {}): Promise<LoadedRules> {
    const { origin } = parseOptions(loadSchema, options, 'limits.load')
    const layer = parseLayer(limits, origin)
    const { set, unset } = differenceOf(await this.#store.changeRules({ kind: 'load', ...layer }))
    return Object.freeze({ set: set.map(viewOf), unset })
  }
}

function viewOf({ pattern, limit, ...from }: Rule & Pick<RuleView, 'origin' | 'by' | 'at'>): RuleView {
  return Object.freeze({ pattern, limit: formatLimit(limit), origin: from.origin, ...handOf(from) })
}

function overrideOf({ pattern, limit, ...hand }: Override): OverrideView {
  return Object.freeze({
    pattern,
    ...(limit !== undefined && { limit: formatLimit(limit) }),
    ...handOf(hand),
  })
}

/** Whole milliseconds. */
function handOf({ by, at }: Pick<Override, 'by' | 'at'>): Pick<RuleView, 'by' | 'at'> {
  return { ...(by !== undefined && { by }), ...(at !== undefined && { at: Math.floor(at / MILLISECOND) }) }
}
