import type { FlowTotals } from '../../core/line-view.ts'
import type { Shaper } from '../../shaper/shaper.ts'

/** So many minutes a page shows of what came and went before it was opened. */
const KEPT_MS = 5 * 60_000
/** Between two looks, at least: a longer log would cost more than it tells. */
const SHORTEST_MS = 1_000

/**
 * The totals of a line, and those of the last minutes, so that a chart does not begin empty. Once started it looks every
 * second, whether or not somebody listens: one read of some counters for each shard.
 */
export class FlowLog {
  readonly #shaper: Shaper
  readonly #everyMs: number
  #kept: FlowTotals[] = []
  #timer: NodeJS.Timeout | undefined
  #refusedHere = 0
  #isCounting = false

  constructor(shaper: Shaper, everyMs: number) {
    this.#shaper = shaper
    this.#everyMs = Math.max(SHORTEST_MS, everyMs)
  }

  /** Of the last minutes, the oldest first. */
  get kept(): readonly FlowTotals[] {
    return this.#kept
  }

  async look(): Promise<FlowTotals> {
    this.#count()
    const { at, admitted, rejected, departed } = await this.#shaper.flow()
    return { at, admitted, rejected: rejected + this.#refusedHere, departed }
  }

  start(): void {
    this.#count()
    this.#timer ??= setInterval(() => void this.#note(), this.#everyMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** From the first look on: the line does not see what was refused in front of it. */
  #count(): void {
    if (this.#isCounting) return
    this.#isCounting = true
    this.#shaper.on('rejected', ({ local }) => {
      if (local) this.#refusedHere++
    })
  }

  async #note(): Promise<void> {
    const totals = await this.look().catch(() => undefined)
    // A line that cannot be reached leaves a gap.
    if (totals === undefined) return
    // What is not before it is of a clock that was set back since.
    const recent = this.#kept.filter(({ at }) => at >= totals.at - KEPT_MS && at < totals.at)
    this.#kept = [...recent, totals]
  }
}
