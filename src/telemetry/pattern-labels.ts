import type { Shaper } from '../shaper/shaper.ts'

/** The label of all patterns beyond the bound. */
const OTHER = 'other'

/**
 * Patterns as label values. Each value costs memory here and in Prometheus, for every metric that has it; so the first
 * ones, up to a bound, get a label, and the others count as `other`.
 */
export class PatternLabels {
  readonly #most: number
  readonly #known = new Set<string>()
  readonly #onNamed: (pattern: string) => void

  /**
   * @param onNamed called with each pattern that gets a label, before the label is used
   */
  constructor(most: number, onNamed: (pattern: string) => void = () => undefined) {
    this.#most = most
    this.#onNamed = onNamed
  }

  /** All labels returned so far, except `other`. */
  get known(): Iterable<string> {
    return this.#known
  }

  of(pattern: string): string {
    if (this.#known.has(pattern)) return pattern
    if (this.#known.size >= this.#most) return OTHER
    this.#known.add(pattern)
    this.#onNamed(pattern)
    return pattern
  }
}

/** The pattern of the rule that applies to a key; undefined if none does (any more), or the key is invalid. */
export function patternOf(shaper: Shaper, key: string): string | undefined {
  try {
    return shaper.limits.resolve(key).pattern
  } catch {
    return undefined
  }
}

/** The pattern of a total of a key, by its path; undefined where no rule has it (any more). */
export function patternOfTotal(shaper: Shaper, key: string, path: string): string | undefined {
  return shaper.limits.totals(key).find((total) => total.path === path)?.pattern
}
