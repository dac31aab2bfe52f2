import type { HistoryEvent } from '../../src/conformance/history.ts'
import { parseLimit } from '../../src/core/limit.ts'
import { lengthOf } from '../../src/core/quota.ts'

/** The limits of a trace, by pattern; and what an observer of them notes of each key and family. */
export class FamilyLimits {
  readonly #limits: Map<string, string>
  /** Those that patterns with a star may be for. */
  readonly #paths: readonly string[]

  constructor(limits: Readonly<Record<string, string>>, paths: readonly string[]) {
    this.#limits = new Map(Object.entries(limits))
    this.#paths = paths
  }

  get patterns(): readonly string[] {
    return [...this.#limits.keys()]
  }

  get(pattern: string): string | undefined {
    return this.#limits.get(pattern)
  }

  /** What is noted of all. */
  notes(at: number): HistoryEvent[] {
    return this.patterns.flatMap((pattern) => this.#notesOf(pattern, at))
  }

  set(pattern: string, limit: string, at: number): HistoryEvent[] {
    this.#limits.set(pattern, limit)
    return this.#notesOf(pattern, at)
  }

  /** Where a pattern with a star is for the same path, that one is in force now. */
  unset(pattern: string, at: number): HistoryEvent[] {
    const paths = this.pathsOf(pattern)
    this.#limits.delete(pattern)
    return paths.map((key) => {
      const other = this.patterns.find((name) => name.includes('*') && this.#governs(name, key))
      if (other === undefined) return { type: 'unset', at, key }
      return { type: 'limit', at, key, limit: parseLimit(this.#limits.get(other)!, key) }
    })
  }

  /** The paths that have the limit of this pattern. */
  pathsOf(pattern: string): readonly string[] {
    return pattern.includes('*') ? this.#paths.filter((path) => this.#governs(pattern, path)) : [pattern]
  }

  #notesOf(pattern: string, at: number): HistoryEvent[] {
    const limit = this.#limits.get(pattern)!
    return this.pathsOf(pattern).map((key) => ({ type: 'limit', at, key, limit: parseLimit(limit, key) }))
  }

  /** Whether the pattern with a star is that of the path, and not a literal one. */
  #governs(pattern: string, path: string): boolean {
    const [one, other] = [pattern.split('/'), path.split('/')]
    if (this.#limits.has(path) || one.length !== other.length) return false
    return one.every((segment, n) => segment === '*' || segment === other[n])
  }
}

/** How a job uses a limit by its quotas. */
export function usesOf(text: string): string {
  const { quotas, interval } = parseLimit(text)
  return quotas.map(({ unit, amount, window }) => `${unit} ${lengthOf(window) / (amount * interval)}`).join()
}
