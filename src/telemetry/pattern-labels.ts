/** Where every pattern beyond the bound is counted. */
const OTHER = 'other'

/**
 * Patterns as values of a label. Each value costs memory here and at whoever scrapes, for every metric that has it; so
 * the first ones that are met are named, up to a bound, and the rest count as `other`.
 */
export class PatternLabels {
  readonly #most: number
  readonly #known = new Set<string>()

  constructor(most: number) {
    this.#most = most
  }

  /** Every value that was ever answered but `other`. */
  get known(): Iterable<string> {
    return this.#known
  }

  of(pattern: string): string {
    if (this.#known.has(pattern)) return pattern
    if (this.#known.size >= this.#most) return OTHER
    this.#known.add(pattern)
    return pattern
  }
}
