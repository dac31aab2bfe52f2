/** Where every pattern beyond the bound is counted. */
const OTHER = 'other'

/**
 * Patterns as values of a label. Each value costs memory here and at whoever scrapes, for every metric that has it; so
 * the first ones that are met are named, up to a bound, and the rest count as `other`.
 */
export class PatternLabels {
  readonly #most: number
  readonly #known = new Set<string>()
  readonly #onNamed: (pattern: string) => void

  /** @param onNamed is told of each that gets a label of its own, before that is used */
  constructor(most: number, onNamed: (pattern: string) => void = () => undefined) {
    this.#most = most
    this.#onNamed = onNamed
  }

  /** Every value that was ever answered but `other`. */
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
