import type { FlowTotals } from '../../core/line-view.ts'
import type { Shaper } from '../../shaper/shaper.ts'

/** The time before it was opened that the page can chart. */
const HISTORY_MS = 5 * 60_000
/** The shortest time between two readings. */
const SHORTEST_MS = 1_000

/**
 * The totals of a line, now and over the last minutes, so that a chart does not begin empty. Once started it reads them
 * every second, with or without subscribers: one read of some counters for each shard.
 */
export class FlowLog {
  readonly #shaper: Shaper
  readonly #everyMs: number
  #history: FlowTotals[] = []
  #timer: NodeJS.Timeout | undefined
  #refusedLocally = 0
  #isCounting = false

  constructor(shaper: Shaper, everyMs: number) {
    this.#shaper = shaper
    this.#everyMs = Math.max(SHORTEST_MS, everyMs)
  }

  /** The totals of the last minutes, oldest first. */
  get history(): readonly FlowTotals[] {
    return this.#history
  }

  async read(): Promise<FlowTotals> {
    this.#count()
    const { at, admitted, rejected, departed } = await this.#shaper.flow()
    return { at, admitted, rejected: rejected + this.#refusedLocally, departed }
  }

  start(): void {
    this.#count()
    this.#timer ??= setInterval(() => void this.#record(), this.#everyMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Counts refusals by local limits from the first reading on; the line's own totals do not include them. */
  #count(): void {
    if (this.#isCounting) return
    this.#isCounting = true
    this.#shaper.on('rejected', ({ local }) => {
      if (local) this.#refusedLocally++
    })
  }

  async #record(): Promise<void> {
    const totals = await this.read().catch(() => undefined)
    // A line that cannot be reached leaves a gap.
    if (totals === undefined) return
    // Later entries come from before the clock was set back.
    const recent = this.#history.filter(({ at }) => at >= totals.at - HISTORY_MS && at < totals.at)
    this.#history = [...recent, totals]
  }
}
