import { MILLISECOND } from '../../core/duration.ts'

const SHORTEST = 50 * MILLISECOND
const LONGEST = 250 * MILLISECOND
/** Passes to remember: three of them are then the slowest twentieth. */
const REMEMBERED = 64
const PERCENTILE = 0.95
const MARGIN = 1.5

/**
 * How long before its slot a job is handed over: one and a half times what handing over all that is due together takes. With
 * less, jobs reach their worker late; with more, more of them wait at the gate.
 */
export class LookAhead {
  readonly #fixed: number | undefined
  readonly #passes: number[] = []
  #oldest = 0
  #value = SHORTEST

  /** @param fixed microseconds; measured when absent */
  constructor(fixed?: number) {
    this.#fixed = fixed
  }

  /** Microseconds. */
  get value(): number {
    return this.#fixed ?? this.#value
  }

  /** @param duration from the first claim of a pass to the end of its last handing over */
  observe(duration: number): void {
    this.#passes[this.#oldest] = duration
    this.#oldest = (this.#oldest + 1) % REMEMBERED
    const sorted = this.#passes.toSorted((a, b) => a - b)
    const slow = sorted[Math.ceil(PERCENTILE * sorted.length) - 1]!
    this.#value = Math.min(LONGEST, Math.max(SHORTEST, MARGIN * slow))
  }
}
