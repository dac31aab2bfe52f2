import { quote } from '../core/describe.ts'
import { nearest } from '../core/options.ts'
import type { Costs } from '../core/usage.ts'
import { DEPARTURE_NAMES } from './departures-csv.ts'

/** More of them are no typing errors. */
const MOST = 8

/**
 * Collects the columns, or properties, of arrivals that are no unit of a limit: jobs would count what their limit says, and a
 * mistyped unit would go unnoticed.
 */
export class UnreadNames {
  readonly #units: readonly string[]
  readonly #found = new Set<string>()
  #last: readonly string[] = []

  constructor(units: readonly string[]) {
    this.#units = units
  }

  /** Takes note of the names of a row. Rows with the same list of names cost nothing more. */
  see(names: readonly string[]): void {
    if (names === this.#last) return
    this.#last = names
    this.#collect(names, (name) => this.#isRead(name))
  }

  /** Takes note of the units that a row names in one field. */
  seeCosts(costs: Costs): void {
    this.#collect(Object.keys(costs), (unit) => this.#units.includes(unit))
  }

  /** A sentence for each. */
  notes(): string[] {
    const known = this.#units.length === 0 ? 'the limits have none' : `units are ${this.#units.join(', ')}`
    return [...this.#found].map((name) => {
      const near = nearest(name, this.#units)
      const hint = near === undefined ? known : `did you mean ${near}?`
      return `${quote(name)} in the arrivals is no unit of a limit, and is ignored: ${hint}`
    })
  }

  #collect(names: readonly string[], isRead: (name: string) => boolean): void {
    for (const name of names) {
      if (this.#found.size === MOST) return
      if (!isRead(name)) this.#found.add(name)
    }
  }

  /** What `simulate` writes into a file of departures may stand there, too. */
  #isRead(name: string): boolean {
    return (
      DEPARTURE_NAMES.has(name) || this.#units.some((unit) => name === unit || name === `${unit}_settled`)
    )
  }
}
