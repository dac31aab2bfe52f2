import { z } from 'zod'
import { MILLISECOND } from '../core/duration.ts'
import { isVelvetRopeError, NoLimitError } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import {
  type Authorship,
  type ChangedRules,
  differenceOf,
  type Override,
  parseLayer,
  type RuleChange,
} from '../core/layered-book.ts'
import { formatLimit, type LimitInput } from '../core/limit.ts'
import { parseOptions } from '../core/options.ts'
import { parseRule, type Rule } from '../core/rule-book.ts'
import {
  BASE_ORIGINS,
  type LocalRuleView,
  type OverrideView,
  type RulePreview,
  type RuleView,
  type UnsetRuleView,
} from '../core/rule-view.ts'
import type { Awaitable } from './awaitable.ts'
import type { LocalLimits } from './local-limits.ts'
import { authorSchema, thisProcess } from './options.ts'
import { type PreviewedChange, type PreviewSource, previewChange } from './preview-change.ts'

/** What a load changed: limits that are new or not the same, and patterns that are gone. */
export interface LoadedRules {
  readonly set: readonly RuleView[]
  readonly unset: readonly string[]
}

const resetSchema = z.strictObject({
  /** Changes nothing unless this is the version in force. Default: whatever it is. */
  ifVersion: z.int().min(0).optional(),
})
const handSchema = resetSchema.extend({
  /** Who does it, for `list` to show: the name of a token, of an operator. 1 to 256 characters. Default: nobody. */
  by: authorSchema.optional(),
})
const loadSchema = resetSchema.extend({
  /** Who says so: the program, a configuration file that it read, or its environment. Default: `code`. */
  origin: z.enum(BASE_ORIGINS).default('code'),
  /** Who brings them, for `list` to show. 1 to 256 characters. Default: as `limitsBy` of the shaper. */
  by: authorSchema.optional(),
})

/** Options of `limits.reset`. */
export type ResetOptions = z.input<typeof resetSchema>
const localSchema = handSchema.pick({ by: true })

/** Options of `limits.set` and `limits.unset`. */
export type ByHandOptions = z.input<typeof handSchema>
/** Options of `limits.setLocal`. */
export type LocalOptions = z.input<typeof localSchema>
/** Options of `limits.load`. */
export type LoadOptions = z.input<typeof loadSchema>

/** What keeps the rules. It knows them by heart, so that they are read at once; a change may take a while. */
export interface RuleStore extends PreviewSource {
  /** What hangs before the line in this process alone. */
  readonly localLimits: Pick<LocalLimits, 'set' | 'unset' | 'list'>
  /** Tells listeners of each rule whose effect changes. @throws RuleBookConflictError */
  changeRules(change: RuleChange): Awaitable<ChangedRules>
}

/**
 * The live rule book of a shaper. A change reaches the jobs that wait already, at once and without a burst.
 *
 * It has four layers: what code says, what a file says, what the environment says, and what was set or unset by hand;
 * each is whole, and its patterns hide those of the layers below. On a shared line all processes have one book. Whatever
 * they ask of their lines goes by the newest; what `list` and `resolve` tell in a process that asks for nothing follows
 * within a second.
 */
export class LiveRuleBook {
  readonly #store: RuleStore
  readonly #by: string

  /** @internal @param by who loads limits where nobody is named */
  constructor(store: RuleStore, by = thisProcess()) {
    this.#store = store
    this.#by = by
  }

  /** Grows with every change, also one that somebody else made; 0 until a shared line has been reached. */
  get version(): number {
    return this.#store.rules.version
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

  /** What was unset by hand, and stays so until `reset`, whatever the layers below say. */
  unsetByHand(): UnsetRuleView[] {
    return this.overrides().filter(({ limit }) => limit === undefined)
  }

  /**
   * Sets a rule by hand: adds it, or replaces that of the same pattern. It stays in force whatever the layers below say,
   * until `unset` or `reset`. The same limit set again is no change.
   *
   * @throws InvalidKeyError, InvalidLimitError, InvalidOptionsError or RuleBookConflictError
   */
  async set(pattern: string, limit: LimitInput, options: ByHandOptions = {}): Promise<RuleView> {
    const hand = parseOptions(handSchema, options, 'limits.set')
    const rule = parseRule(pattern, limit)
    const { after } = await this.#store.changeRules({ kind: 'set', rule, ...hand })
    return viewOf(after.get(pattern)!)
  }

  /**
   * Removes a rule by hand; false when there was none. What the layers below say of the pattern is out of force until
   * `reset`. Jobs that wait fall to the next rule that matches; where none does they keep the limit they had, and
   * newcomers are refused with NoLimitError.
   *
   * @throws InvalidKeyError, InvalidOptionsError or RuleBookConflictError
   */
  async unset(pattern: string, options: ByHandOptions = {}): Promise<boolean> {
    const hand = parseOptions(handSchema, options, 'limits.unset')
    checkKey(pattern, 'pattern')
    return (await this.#store.changeRules({ kind: 'unset', pattern, ...hand })).isChanged
  }

  /**
   * What a change by hand would do to the buckets that live now; changes nothing. `{ set: [pattern, limit] }`,
   * `{ unset: pattern }` or `{ reset: pattern }`. All of the buckets are looked at, some hundred at a time, and nobody
   * is held up meanwhile.
   *
   * @throws InvalidKeyError, InvalidLimitError or InvalidOptionsError; on a shared line also BackendUnavailableError
   */
  preview(change: PreviewedChange, sees: (key: string) => boolean = seesAll): Promise<RulePreview> {
    return previewChange(this.#store, change, sees)
  }

  /**
   * Holds what this process alone admits, of each key that the pattern governs, to a limit as well: so many cost units
   * at once, and then no more than the rate, as a meter counts. For a process that is out of line, until it is mended.
   * It can only take away: whoever passes stands in the same line as everybody else. It is in no rule book, no other
   * process knows of it, and it ends with this one. Of several patterns the longest governs, as in the rule book.
   *
   * @throws InvalidKeyError, InvalidLimitError (also for a tolerance or a warm-up, since a meter starts nothing) or
   * InvalidOptionsError
   */
  setLocal(pattern: string, limit: LimitInput, options: LocalOptions = {}): LocalRuleView {
    const { by } = parseOptions(localSchema, options, 'limits.setLocal')
    return this.#store.localLimits.set(pattern, limit, by)
  }

  /** Takes away what `setLocal` set for this pattern; false when nothing was. @throws InvalidKeyError */
  unsetLocal(pattern: string): boolean {
    checkKey(pattern, 'pattern')
    return this.#store.localLimits.unset(pattern)
  }

  /** Every limit of this process alone. */
  locals(): LocalRuleView[] {
    return this.#store.localLimits.list()
  }

  /**
   * Drops what was set or unset by hand, so that the layers below govern again; false when nothing was.
   *
   * @throws InvalidKeyError, InvalidOptionsError or RuleBookConflictError
   */
  async reset(pattern: string, options: ResetOptions = {}): Promise<boolean> {
    const { ifVersion } = parseOptions(resetSchema, options, 'limits.reset')
    checkKey(pattern, 'pattern')
    return (await this.#store.changeRules({ kind: 'reset', pattern, ifVersion })).isChanged
  }

  /**
   * What code, the file, or the environment says from now on, all of it: replaces what it said before, at once, and
   * answers what changed in force. The other layers stay, and with them what was set or unset by hand. If one rule is
   * wrong, nothing changes.
   *
   * Of several processes that load, the last one wins, be it older or newer; loading the same again changes nothing. So
   * processes that each load every change of one file, and try again after an error, end with the same limits.
   *
   * @throws InvalidKeyError, InvalidLimitError, InvalidOptionsError or RuleBookConflictError
   */
  async load(limits: Readonly<Record<string, LimitInput>>, options: LoadOptions = {}): Promise<LoadedRules> {
    const { origin, by = this.#by, ifVersion } = parseOptions(loadSchema, options, 'limits.load')
    const layer = parseLayer(limits, origin, by)
    const { set, unset } = differenceOf(await this.#store.changeRules({ kind: 'load', ...layer, ifVersion }))
    return Object.freeze({ set: set.map(viewOf), unset })
  }
}

function seesAll(): boolean {
  return true
}

function viewOf({ pattern, limit, ...from }: Rule & Pick<RuleView, 'origin' | 'by' | 'at'>): RuleView {
  return Object.freeze({ pattern, limit: formatLimit(limit), origin: from.origin, ...authorOf(from) })
}

function overrideOf({ pattern, limit, ...hand }: Override): OverrideView {
  return Object.freeze({
    pattern,
    ...(limit !== undefined && { limit: formatLimit(limit) }),
    ...authorOf(hand),
  })
}

/** Whole milliseconds. */
function authorOf({ by, at }: Authorship): Pick<RuleView, 'by' | 'at'> {
  return { ...(by !== undefined && { by }), ...(at !== undefined && { at: Math.floor(at / MILLISECOND) }) }
}

/** The rule that governs the key, if any. */
export function ruleOf(limits: LiveRuleBook, key: string): RuleView | undefined {
  try {
    return limits.resolve(key)
  } catch (error) {
    if (isVelvetRopeError(error, 'no-limit')) return undefined
    throw error
  }
}
