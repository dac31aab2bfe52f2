import type { BucketView } from '../core/bucket-view.ts'
import { isTotal } from '../core/key.ts'
import type { LayeredBook, RuleDifference } from '../core/layered-book.ts'
import { hasParts } from '../core/limit.ts'
import type { TotalRule } from '../core/rule-book.ts'
import type { PreviewedStanding, PreviewedTotal, TotalsPreview } from '../core/rule-view.ts'
import { drainOf, standingUnder } from './preview-standing.ts'

/** The families that are counted; more than these are not looked at. */
const MOST_FAMILIES = 50_000
const MOST_SAMPLES = 20

/** A family to which another total would apply, and what waits in it. */
interface Affected {
  readonly path: string
  readonly before: TotalRule | undefined
  readonly after: TotalRule | undefined
  buckets: number
  units: number
  jobs: number
}

/** Counts what a change of totals does to the families that live: the sums of their buckets, so also where a total is new. */
export class TotalPreviewCount {
  readonly #before: LayeredBook
  readonly #after: LayeredBook
  /** Patterns of totals that are new, or have another limit. */
  readonly #set: ReadonlySet<string>
  readonly #isAsked: boolean
  readonly #families = new Map<string, Affected>()
  #buckets = 0
  #waiting = 0
  #isPartial = false

  constructor(before: LayeredBook, after: LayeredBook, { set, unset }: RuleDifference) {
    this.#before = before
    this.#after = after
    this.#set = new Set(set.map(({ pattern }) => pattern).filter(isTotal))
    this.#isAsked = this.#set.size > 0 || unset.some(isTotal)
  }

  add(view: BucketView): void {
    if (!this.#isAsked) return
    const families = this.#affectedAbove(view.key)
    if (families.length === 0) return
    this.#buckets++
    this.#waiting += view.waiting
    for (const family of families) {
      family.buckets++
      family.units += view.waiting
      family.jobs += view.jobs + view.retrying
    }
  }

  /** Undefined where the change is of no total. */
  result(): TotalsPreview | undefined {
    if (!this.#isAsked) return undefined
    const families = [...this.#families.values()].map(effectOn)
    const rules = [...this.#families.values()].flatMap(({ before, after }) => [before, after])
    const isEstimate = rules.some((rule) => rule !== undefined && hasParts(rule.limit))
    return {
      families: families.length,
      buckets: this.#buckets,
      waiting: this.#waiting,
      overfull: families.filter(({ after }) => after !== null && after.fill > 1).length,
      drainMs: {
        before: longestDrain(families.map(({ before }) => before)),
        after: longestDrain(families.map(({ after }) => after)),
        ...(isEstimate && { isEstimate }),
      },
      ...(this.#isPartial && { isPartial: true as const }),
      samples: families.sort(rank).slice(0, MOST_SAMPLES),
    }
  }

  /** The families of the key whose total would be another, the outermost first. */
  #affectedAbove(key: string): Affected[] {
    const [before, after] = [this.#before, this.#after].map((book) => book.totalsOf(key)) as [Totals, Totals]
    const paths = new Set([...before, ...after].map(({ path }) => path))
    return [...paths].flatMap((path) => {
      const [old, rule] = [before, after].map((totals) => totals.find((total) => total.path === path))
      const isSame = old?.pattern === rule?.pattern && !this.#set.has(rule?.pattern ?? '')
      const family = isSame ? undefined : this.#familyAt(path, old, rule)
      return family === undefined ? [] : [family]
    })
  }

  #familyAt(path: string, before: TotalRule | undefined, after: TotalRule | undefined): Affected | undefined {
    const known = this.#families.get(path)
    if (known !== undefined) return known
    if (this.#families.size === MOST_FAMILIES) {
      this.#isPartial = true
      return undefined
    }
    const family = { path, before, after, buckets: 0, units: 0, jobs: 0 }
    this.#families.set(path, family)
    return family
  }
}

type Totals = readonly TotalRule[]

function effectOn({ path, before, after, buckets, units, jobs }: Affected): PreviewedTotal {
  const under = (rule: TotalRule | undefined) => {
    if (rule === undefined) return null
    const drainMs = drainOf({ units, jobs, counted: undefined }, rule.limit)
    return standingUnder(rule, units, drainMs)
  }
  return { path, buckets, waiting: units, before: under(before), after: under(after) }
}

/** Null: there is no total. */
function longestDrain(standings: readonly (PreviewedStanding | null)[]): number | null {
  return standings.reduce<number | null>(
    (most, standing) => (standing === null ? most : Math.max(most ?? 0, standing.drainMs)),
    null,
  )
}

/** Orders by what changes most, then by path, so that the result is deterministic. */
function rank(one: PreviewedTotal, other: PreviewedTotal): number {
  return (
    drainChange(other) - drainChange(one) || other.waiting - one.waiting || (one.path < other.path ? -1 : 1)
  )
}

function drainChange({ before, after }: PreviewedTotal): number {
  return Math.abs((after?.drainMs ?? 0) - (before?.drainMs ?? 0))
}
