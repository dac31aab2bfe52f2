import type { BucketView } from '../core/bucket-view.ts'
import { differenceOf, type LayeredBook } from '../core/layered-book.ts'
import { hasParts, type Limit, parseStoredLimit } from '../core/limit.ts'
import type { LineJob, LineView } from '../core/line-view.ts'
import type { Rule } from '../core/rule-book.ts'
import type { PreviewedStanding, PreviewSample, RulePreview } from '../core/rule-view.ts'
import { chargesOf } from '../core/usage.ts'
import { countedIn, drainOf, standing, standingUnder } from './preview-standing.ts'
import { TotalPreviewCount } from './total-preview.ts'

interface RankedSample extends PreviewSample {
  readonly isUngoverned: boolean
  readonly drainChange: number
  readonly fillChange: number
}

/** A bucket that a change affects: how it is, and what it would be. */
interface Affected {
  /** Cost units. */
  readonly waiting: number
  readonly before: PreviewedStanding
  /** Undefined: no rule would apply to it. */
  readonly rule: Rule | undefined
  /** The drain time under that rule, in milliseconds. */
  readonly later: number
}

const MOST_SAMPLES = 20
/** Keys that are remembered, so that none counts twice. */
const MOST_KEYS = 50_000
/** The most limits that are cached: those of all rules, and a few earlier ones. */
const MOST_LIMITS = 1_000

/** Counts what a change from one rule book to another does to live buckets. */
export class PreviewCount {
  readonly #before: LayeredBook
  readonly #after: LayeredBook
  /** Patterns that are new, or have another limit. */
  readonly #changed: ReadonlySet<string>
  readonly #totals: TotalPreviewCount
  readonly #seen = new Set<string>()
  readonly #limits = new Map<string, Limit>()
  #samples: RankedSample[] = []
  #buckets = 0
  #affected = 0
  #waiting = 0
  #overfull = 0
  #ungoverned = 0
  #longestBefore = 0
  #longestAfter = 0
  #hasEstimates = false
  #looked = 0
  #tooCostly = 0

  constructor(before: LayeredBook, after: LayeredBook) {
    this.#before = before
    this.#after = after
    const difference = differenceOf({ at: 0, isChanged: true, before, after })
    this.#changed = new Set(difference.set.map(({ pattern }) => pattern))
    this.#totals = new TotalPreviewCount(before, after, difference)
  }

  add(view: BucketView): void {
    const { key, fill, capacity, limit } = view
    if (this.#seen.has(key)) return
    if (this.#seen.size < MOST_KEYS) this.#seen.add(key)
    this.#buckets++
    this.#totals.add(view)
    const rule = this.#after.find(key)
    if (!this.#isAffected(key, rule)) return
    const units = Math.round(fill * capacity)
    const governing = this.#limitOf(limit)
    const waiting = { units, jobs: view.jobs + view.retrying, counted: countedIn(governing, view) }
    const drain = drainOf(waiting, governing)
    const later = rule === undefined ? drain : drainOf(waiting, rule.limit)
    this.#hasEstimates ||= hasParts(governing) || (rule !== undefined && hasParts(rule.limit))
    this.#affected++
    this.#waiting += units
    this.#longestBefore = Math.max(this.#longestBefore, drain)
    this.#longestAfter = Math.max(this.#longestAfter, later)
    if (rule === undefined) this.#ungoverned++
    else if (units > rule.limit.capacity) this.#overfull++
    this.#sample(view, { waiting: units, before: standing(view, governing, drain), rule, later })
  }

  /** The keys of the samples whose jobs a rule would govern. */
  get sampled(): string[] {
    return this.#samples.flatMap(({ key, after }) => (after === null ? [] : [key]))
  }

  /** Looks at the first jobs of a sample. */
  look({ key, jobs }: LineView): void {
    const { limit } = this.#after.find(key)!
    this.#looked += jobs.length
    this.#tooCostly += jobs.filter((job) => isTooCostly(limit, job)).length
  }

  result(version: number): RulePreview {
    const totals = this.#totals.result()
    return {
      version,
      buckets: this.#buckets,
      affected: this.#affected,
      waiting: this.#waiting,
      overfull: this.#overfull,
      drainMs: {
        before: this.#longestBefore,
        after: this.#longestAfter,
        ...(this.#hasEstimates && { isEstimate: true as const }),
      },
      ungoverned: this.#ungoverned,
      ...(this.#tooCostly > 0 && { tooCostly: { jobs: this.#tooCostly, looked: this.#looked } }),
      samples: this.#samples.map(({ key, waiting, before, after }) => ({ key, waiting, before, after })),
      ...(totals && { totals }),
    }
  }

  #isAffected(key: string, after: Rule | undefined): boolean {
    if (after !== undefined && this.#changed.has(after.pattern)) return true
    return this.#before.find(key)?.pattern !== after?.pattern
  }

  /** By the text of the limit, since a view has no more, and a bucket without a rule has a limit that is in no rule book. */
  #limitOf(limit: string): Limit {
    const known = this.#limits.get(limit)
    if (known !== undefined) return known
    const parsed = parseStoredLimit(limit)
    if (this.#limits.size === MOST_LIMITS) this.#limits.clear()
    this.#limits.set(limit, parsed)
    return parsed
  }

  #sample({ key, fill }: BucketView, { waiting, before, rule, later }: Affected) {
    const { drainMs } = before
    const after = rule === undefined ? null : standingUnder(rule, waiting, later)
    const sample = {
      key,
      waiting,
      before,
      after,
      isUngoverned: after === null,
      drainChange: after === null ? drainMs : Math.abs(after.drainMs - drainMs),
      fillChange: after === null ? fill : Math.abs(after.fill - fill),
    }
    const last = this.#samples.at(-1)
    if (this.#samples.length === MOST_SAMPLES && rank(last!, sample) < 0) return
    // Above MOST_KEYS a key may come twice.
    const others = this.#samples.filter((other) => other.key !== key)
    this.#samples = [...others, sample].sort(rank).slice(0, MOST_SAMPLES)
  }
}

/** Orders samples: the most affected first, then by key, so that the result is deterministic. */
function rank(one: RankedSample, other: RankedSample): number {
  return (
    Number(other.isUngoverned) - Number(one.isUngoverned) ||
    other.drainChange - one.drainChange ||
    other.fillChange - one.fillChange ||
    (one.key < other.key ? -1 : 1)
  )
}

/** Whether the job alone exceeds the capacity or a quota: a new one like it would be refused. */
function isTooCostly(limit: Limit, job: LineJob): boolean {
  const charges = chargesOf(limit, job)
  return job.cost > limit.capacity || limit.quotas.some(({ amount }, index) => charges[index]! > amount)
}
