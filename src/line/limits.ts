import { MILLISECOND } from '../core/duration.ts'
import { isVelvetRopeError, NoLimitError } from '../core/errors.ts'
import type { Admission } from '../core/job.ts'
import { checkKey } from '../core/key.ts'
import { type ChangedRules, differenceOf, parseLayer } from '../core/layered-book.ts'
import type { LimitInput } from '../core/limit.ts'
import { formatLimit } from '../core/limit-format.ts'
import { parseOptions } from '../core/options.ts'
import { parseRule, type Rule } from '../core/rule-book.ts'
import type { Authorship, Override, RuleChange } from '../core/rule-layers.ts'
import type {
  LocalRuleView,
  OverrideView,
  RulePreview,
  RuleView,
  TotalView,
  UnsetRuleView,
} from '../core/rule-view.ts'
import type { Costs } from '../core/usage.ts'
import type { Awaitable } from './awaitable.ts'
import type { LocalLimits } from './local-limits.ts'
import { thisProcess } from './options.ts'
import { type PreviewedChange, type PreviewSource, previewChange } from './preview-change.ts'
import {
  type ByHandOptions,
  handSchema,
  type LoadOptions,
  type LocalOptions,
  loadSchema,
  localSchema,
  type ResetOptions,
  resetSchema,
} from './rule-options.ts'
import { uncountedUnits } from './settle.ts'
import type { Turn } from './turn.ts'

/** What a load changed: limits that are new or different, and patterns that are gone. */
export interface LoadedRules {
  readonly set: readonly RuleView[]
  readonly unset: readonly string[]
}

/** Keeps the rules in memory, so that they are read at once; a change may take a while. */
export interface RuleStore extends PreviewSource {
  /** The local limits of this process. */
  readonly localLimits: Pick<LocalLimits, 'set' | 'unset' | 'list'>
  /** Changes the rules, and emits each whose effect changes. @throws RuleBookConflictError */
  changeRules(change: RuleChange): Awaitable<ChangedRules>
}

/**
 * The live rule book of a shaper. A change reaches the jobs that wait already, at once and without a burst.
 *
 * It has four layers: code, file, environment, and what was set or unset by hand. Each is loaded as a whole, and later
 * layers override earlier ones. On a shared line all processes have one book: requests always use the newest version; in a
 * process that makes no requests, `list` and `resolve` follow within a second.
 */
export class LiveRuleBook {
  readonly #store: RuleStore
  readonly #by: string

  /** @internal @param by who loads limits where no name is given */
  constructor(store: RuleStore, by = thisProcess()) {
    this.#store = store
    this.#by = by
  }

  /** Grows with every change, also by other processes; 0 until a shared line has been reached. */
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

  /** @internal Returns the answer to a request, with the units of its costs that no quota of the limit of its key counts. */
  tellUncounted<Answer extends Admission | Turn>(answer: Answer, costs: Costs | undefined): Answer {
    if (costs === undefined || !answer.accepted) return answer
    const { rules } = this.#store
    const rule = rules.find(answer.key)
    const limits = [...(rule === undefined ? [] : [rule]), ...rules.totalsOf(answer.key)]
    const quotas = limits.flatMap(({ limit }) => limit.quotas)
    const uncounted = rule === undefined ? [] : uncountedUnits({ quotas }, costs)
    if (uncounted.length === 0) return answer
    // An answer may be kept, for when the same request comes again; a turn has methods, and cannot be copied.
    return 'release' in answer ? Object.assign(answer, { uncounted }) : { ...answer, uncounted }
  }

  /** The totals that limit the sum of what the key belongs to, the outermost first; empty where there is none. @throws InvalidKeyError */
  totals(key: string): TotalView[] {
    checkKey(key)
    return this.#store.rules.totalsOf(key).map(({ path, pattern }) => {
      return { path, ...viewOf(this.#store.rules.get(pattern)!) }
    })
  }

  /** The rule in force with exactly this pattern. */
  get(pattern: string): RuleView | undefined {
    const rule = this.#store.rules.get(pattern)
    return rule && viewOf(rule)
  }

  /** Every rule in force. */
  list(): RuleView[] {
    return this.#store.rules.list().map(viewOf)
  }

  /** Everything that was set or unset by hand, the oldest first. */
  overrides(): OverrideView[] {
    return this.#store.rules.layers.overrides.map(overrideOf)
  }

  /** What was unset by hand, and stays unset until `reset`, whatever the other layers say. */
  unsetByHand(): UnsetRuleView[] {
    return this.overrides().filter(({ limit }) => limit === undefined)
  }

  /**
   * Sets a rule by hand: adds it, or replaces the one of the same pattern. It stays in force, whatever the other layers say,
   * until `unset` or `reset`. Setting the same limit again changes nothing.
   *
   * @throws InvalidKeyError, InvalidLimitError, InvalidOptionsError, RuleBookConflictError or TooManyRulesError
   */
  async set(pattern: string, limit: LimitInput, options: ByHandOptions = {}): Promise<RuleView> {
    const hand = parseOptions(handSchema, options, 'limits.set')
    const rule = parseRule(pattern, limit)
    const { after } = await this.#store.changeRules({ kind: 'set', rule, ...hand })
    return viewOf(after.get(pattern)!)
  }

  /**
   * Removes a rule by hand; false when there was none. What the other layers say of the pattern is out of force until
   * `reset`. Waiting jobs get the next rule that matches; where none does they keep the limit they had, and
   * new ones are refused with NoLimitError.
   *
   * @throws InvalidKeyError, InvalidOptionsError, RuleBookConflictError or TooManyRulesError
   */
  async unset(pattern: string, options: ByHandOptions = {}): Promise<boolean> {
    const hand = parseOptions(handSchema, options, 'limits.unset')
    checkKey(pattern, 'pattern')
    return (await this.#store.changeRules({ kind: 'unset', pattern, ...hand })).isChanged
  }

  /**
   * Returns what a change by hand would do to the buckets that live now; changes nothing. `{ set: [pattern, limit] }`,
   * `{ unset: pattern }` or `{ reset: pattern }`. It reads all buckets, some hundred at a time, so that nothing is blocked.
   *
   * @throws InvalidKeyError, InvalidLimitError or InvalidOptionsError; on a shared line also BackendUnavailableError
   */
  preview(change: PreviewedChange, sees: (key: string) => boolean = seesAll): Promise<RulePreview> {
    return previewChange(this.#store, change, sees)
  }

  /**
   * Limits what this process alone admits of each key that the pattern governs: so many cost units at once, and then no more
   * than the rate, as a meter counts. For a process that misbehaves, until it is fixed.
   * It can only reject: what it admits stands in the same line as all else. It is in no rule book, no other
   * process knows of it, and it ends with this process. Of several patterns the longest governs, as in the rule book.
   *
   * @throws InvalidKeyError, InvalidLimitError (also for a tolerance or a warm-up, since a meter starts nothing),
   * InvalidOptionsError or TooManyRulesError
   */
  setLocal(pattern: string, limit: LimitInput, options: LocalOptions = {}): LocalRuleView {
    const { by, atMost } = parseOptions(localSchema, options, 'limits.setLocal')
    return this.#store.localLimits.set(pattern, limit, by, atMost)
  }

  /** Removes the local limit of this pattern; false when there was none. @throws InvalidKeyError */
  unsetLocal(pattern: string): boolean {
    checkKey(pattern, 'pattern')
    return this.#store.localLimits.unset(pattern)
  }

  /** Every local limit of this process. */
  locals(): LocalRuleView[] {
    return this.#store.localLimits.list()
  }

  /**
   * Removes what was set or unset by hand, so that the other layers govern again; false when there was nothing.
   *
   * @throws InvalidKeyError, InvalidOptionsError or RuleBookConflictError
   */
  async reset(pattern: string, options: ResetOptions = {}): Promise<boolean> {
    const { ifVersion } = parseOptions(resetSchema, options, 'limits.reset')
    checkKey(pattern, 'pattern')
    return (await this.#store.changeRules({ kind: 'reset', pattern, ifVersion })).isChanged
  }

  /**
   * Replaces the layer of the code, the file, or the environment as a whole, at once, and returns what changed in force. The
   * other layers stay, and so does what was set or unset by hand. If one rule is invalid, nothing changes.
   *
   * Of several processes that load, the last one wins, whatever their versions; loading the same again changes nothing. So
   * processes that each load every change of one file, and retry after an error, end with the same limits.
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
