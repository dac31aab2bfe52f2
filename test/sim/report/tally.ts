import type { SeedReport } from '../run-seeds.ts'

/** What many runs came to. */
export class Tally {
  readonly #startedAt = performance.now()
  readonly #faults = new Map<string, number>()
  readonly #recoveries = new Map<string, number[]>()
  #seeds = 0
  #idle = 0
  #events = 0
  #seconds = 0
  #starts = 0
  failures = 0

  add(report: SeedReport): void {
    if (report.isIdle) this.#idle += 1
    else this.#count(report)
    const { seed, failure } = report
    if (failure === undefined) return
    this.failures += 1
    console.log(`seed ${seed} failed (${failure.laws.join(', ')}): ${failure.path ?? ''}\n${failure.text}`)
  }

  /** An idle run, whose faults met no job, counts for nothing here. */
  #count({ events, seconds, starts, faults, recoveries }: SeedReport): void {
    this.#seeds += 1
    this.#events += events
    this.#seconds += seconds
    this.#starts += starts
    for (const kind of faults) this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + 1)
    for (const [kind, ms] of recoveries) {
      const known = this.#recoveries.get(kind)
      if (known === undefined) this.#recoveries.set(kind, [ms])
      else known.push(ms)
    }
  }

  /** A process died while it ran these seeds. */
  addDeath({ from, count }: { readonly from: number; readonly count: number }, code: number | null): void {
    this.failures += 1
    console.log(`a process ended with ${code} among the seeds ${from} to ${from + count - 1}`)
  }

  line(): string {
    const minutes = (performance.now() - this.#startedAt) / 60_000
    const hours = (this.#seconds / 3_600).toFixed(1)
    const pace = Math.round((this.#seeds + this.#idle) / minutes)
    return `${this.#seeds} seeds and ${this.#idle} idle, ${pace} a minute, ${hours} virtual hours, ${this.#starts} starts, ${this.failures} failed`
  }

  report(): string {
    const faults = [...this.#faults].sort().map(([kind, count]) => `${kind} ${count}`)
    const recoveries = [...this.#recoveries].sort().map(([kind, all]) => {
      const sorted = all.toSorted((a, b) => a - b)
      const at = (share: number) => `${Math.round(sorted[Math.floor((sorted.length - 1) * share)]!)} ms`
      return `  ${kind}: ${sorted.length} times, median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}`
    })
    return [`faults that met a job: ${faults.join(', ')}`, ...recoveries].join('\n')
  }
}
