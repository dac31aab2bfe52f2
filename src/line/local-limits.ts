import { MILLISECOND } from '../core/duration.ts'
import type { ShaperEvents } from '../core/events.ts'
import { HeapUse } from '../core/heap-use.ts'
import { type Rejected, retryAfterMs } from '../core/job.ts'
import type { LimitInput } from '../core/limit.ts'
import { EMPTY, fill, fits, forgottenAt, levelAt, type MeterState, ROUNDING, waitFor } from '../core/meter.ts'
import { formatMeterLimit, parseOwnMeterLimit } from '../core/meter-limit.ts'
import { parseRule, type Rule, RuleBook } from '../core/rule-book.ts'
import { assertFew, assertQuick, bytesOfRule } from '../core/rule-bounds.ts'
import type { LocalRuleView } from '../core/rule-view.ts'

export interface LocalLimitsPorts {
  /** Microseconds. */
  readonly now: () => number
  /** Whether the rule book has a limit for the key: where it has none, a request gets that error first. */
  readonly isGoverned: (key: string) => boolean
  /** A local limit was set or removed. */
  readonly onChange: (change: ShaperEvents['localLimit'][0]) => void
  /** Where their use of the heap is counted. Default: one of their own. */
  readonly use?: HeapUse
}

interface Level {
  state: MeterState
  /** Cost units of requests that the line judges now. */
  held: number
}

/** Bytes that a level takes of the heap beside its key, measured: docs/decisions/service.md. */
const LEVEL = 208

const NOTHING: Readonly<Level> = Object.freeze({ state: EMPTY, held: 0 })
/** How many levels each request checks for removal: more than it adds. */
const LOOKS = 2
/** Rounding may leave this much of a unit in an empty meter. */
const LEAST = 1e-9

/**
 * Limits of one process in front of the line, for a process that misbehaves: what it admits of a key is metered
 * (core/meter.ts), and beyond the limit a request is rejected before the line is asked. They end with the process. They can
 * only reject: order, spacing and capacity of the line stay as they are.
 *
 * While the line judges a request, its units are held and count like units that do not leak. Only what was admitted goes
 * into the meter, so nothing has to be taken out of it again, which would be inexact once some of it has leaked.
 */
export class LocalLimits {
  readonly #ports: LocalLimitsPorts
  /** The longest pattern governs, as in the rule book. Undefined: there is no local limit, and nothing to check. */
  #book: RuleBook | undefined
  readonly use: HeapUse
  readonly #views = new Map<string, LocalRuleView>()
  readonly #levels = new Map<string, Level>()
  #checking = this.#levels.entries()

  constructor(ports: LocalLimitsPorts) {
    this.#ports = ports
    this.use = ports.use ?? new HeapUse()
  }

  /** Whether no local limit is set. */
  get isEmpty(): boolean {
    return this.#book === undefined
  }

  /** How many levels are kept. */
  get size(): number {
    return this.#levels.size
  }

  /** @throws InvalidKeyError, InvalidLimitError or TooManyRulesError */
  set(pattern: string, input: LimitInput, by?: string, atMost?: number): LocalRuleView {
    const rule = parseRule(pattern, input, parseOwnMeterLimit)
    if (!this.#views.has(pattern)) {
      if (atMost !== undefined) assertFew(this.#views.values(), { pattern, by }, { atMost })
      assertQuick(this.#views.keys(), pattern)
      this.use.add(pattern, bytesOfRule(pattern))
    }
    const at = this.#ports.now() / MILLISECOND
    this.#book = (this.#book ?? new RuleBook({}, parseOwnMeterLimit)).with(rule)
    const limit = formatMeterLimit(rule.limit)
    const who = by === undefined ? {} : { by }
    const view: LocalRuleView = Object.freeze({
      pattern,
      limit,
      origin: 'local',
      ...who,
      at: Math.floor(at),
    })
    this.#views.set(pattern, view)
    this.#ports.onChange({ pattern, at, limit: rule.limit, ...who })
    return view
  }

  /** False when there was none. What was metered counts under the limit that governs the key then, if there is one. */
  unset(pattern: string): boolean {
    if (!this.#views.delete(pattern)) return false
    this.use.releaseOf(pattern, bytesOfRule(pattern))
    this.#book = this.#views.size === 0 ? undefined : this.#book?.without(pattern)
    if (this.#views.size === 0) for (const key of this.#levels.keys()) this.#remove(key)
    this.#ports.onChange({ pattern, at: this.#ports.now() / MILLISECOND, limit: undefined })
    return true
  }

  /** Every local limit, in the order in which its pattern was first set. */
  list(): LocalRuleView[] {
    return [...this.#views.values()]
  }

  /** The refusal of a request before the line is asked; undefined when it may ask. Counts nothing. */
  refusal(key: string, cost: number): Rejected | undefined {
    const rule = this.#book?.find(key)
    if (rule === undefined || !this.#ports.isGoverned(key)) return undefined
    const { capacity, interval } = rule.limit
    const now = this.#ports.now()
    this.#forget(now)
    const { state, held } = this.#levels.get(key) ?? NOTHING
    const expected = held === 0 ? state : withMore(state, rule, held, now)
    const request = { amount: cost, capacity, interval, clamp: false, block: 0 }
    if (fits(expected, request, now)) return undefined
    const wait = waitFor(expected, request, now)
    return {
      accepted: false,
      reason: cost > capacity ? 'too-costly' : 'full',
      key,
      retryAfterMs: retryAfterMs(wait),
      waiting: Math.max(0, Math.ceil(levelAt(expected, interval, now) - capacity * ROUNDING - LEAST)),
      capacity,
      local: true,
    }
  }

  /**
   * Holds units until the line has answered. Call the returned function once, with how many were, or may have been, admitted.
   */
  hold(key: string, units: number): (admitted: number) => void {
    if (this.#book?.find(key) === undefined) return countsNothing
    const level = this.#levels.get(key) ?? this.#add(key)
    level.held += units
    return (admitted) => {
      level.held -= units
      const now = this.#ports.now()
      const rule = admitted > 0 ? this.#book?.find(key) : undefined
      if (rule !== undefined) level.state = withMore(level.state, rule, admitted, now)
      if (isForgettable(level, now) && this.#levels.get(key) === level) this.#remove(key)
    }
  }

  /** Removes empty levels. There is no timer: each request checks a few. */
  #forget(now: number): void {
    for (let looks = 0; looks < LOOKS; looks++) {
      const next = this.#checking.next()
      if (next.done) {
        this.#checking = this.#levels.entries()
        return
      }
      const [key, level] = next.value
      if (isForgettable(level, now)) this.#remove(key)
    }
  }

  #add(key: string): Level {
    const level = { state: EMPTY, held: 0 }
    this.#levels.set(key, level)
    this.use.add(key, LEVEL + key.length)
    return level
  }

  #remove(key: string): void {
    this.#levels.delete(key)
    this.use.releaseOf(key, LEVEL + key.length)
  }
}

function isForgettable({ state, held }: Level, now: number): boolean {
  return held === 0 && forgottenAt(state) <= now
}

function countsNothing(): void {}

/** What was admitted counts, even if the limit was lowered meanwhile. */
function withMore(state: MeterState, { limit: { interval } }: Rule, amount: number, now: number): MeterState {
  const request = { amount, capacity: Number.POSITIVE_INFINITY, interval, clamp: false, block: 0 }
  return fill(state, request, now).state
}
