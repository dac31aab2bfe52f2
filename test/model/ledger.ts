import type { FaultKind, Setup } from './setup.ts'
import { type Cells, cellsOf, recordType } from './store/cells.ts'
import { ANY_COST } from './store/lease.ts'
import { GRANTED, RUNNING, type Shard } from './store/shard.ts'
import type { Ends } from './store/times.ts'
import { shiftCells } from './store/times.ts'
import { chargesOf, quotasOf } from './store/usage.ts'

/** Starts that are remembered: more than any window of a setup takes. */
const ROOM = 16
/** Where what the store counts may be more than what started. */
const COUNTS_MORE: readonly FaultKind[] = ['restart', 'rollback', 'wipe', 'forward', 'back']

const START = recordType(['job', 'at', 'cost', 'tokens', 'isSettled'])
type Start = ReturnType<typeof START.over>

/** The most that a job costs, and that it counts in tokens, of which the store still knows after a loss. */
interface Known {
  readonly knownCost: number
  readonly knownTokens: number
}

/** What an onlooker knows of the starts that count in quotas: by a clock that is never moved, settled where that was in time. */
export class Ledger {
  static sizeFor(setup: Setup): number {
    return setup.limits.some((limit) => quotasOf(limit).length > 0) ? ROOM * START.size : 0
  }

  /** Undefined: no limit has a quota. */
  readonly #starts: readonly Start[] | undefined
  readonly #setup: Setup
  readonly #ends: Ends
  readonly #times: readonly number[]
  readonly #cells: Cells
  readonly #longest: number
  readonly #isExact: boolean

  constructor(cells: Cells, base: number, setup: Setup, ends: Ends) {
    this.#cells = cells
    this.#setup = setup
    this.#ends = ends
    const room = Ledger.sizeFor(setup) / START.size
    const starts = Array.from({ length: room }, (_, index) => START.over(cells, base + index * START.size))
    this.#starts = room === 0 ? undefined : starts
    this.#times = starts.flatMap((start) => cellsOf(start, ['at']))
    this.#longest = Math.max(0, ...setup.limits.flatMap(quotasOf).map(({ window }) => window))
    this.#isExact = setup.limits.length === 1 && setup.kinds.every((kind) => !COUNTS_MORE.includes(kind))
    for (const start of starts) this.#forget(start)
  }

  #forget(start: Start): void {
    Object.assign(start, { job: 0, at: this.#ends.never, cost: 0, tokens: 0, isSettled: 0 })
  }

  #find(job: number): Start | undefined {
    return this.#starts?.findLast((start) => start.job === job + 1)
  }

  /**
   * Notes a start; false: with it more starts in a window than the quota has.
   *
   * @param known the most that it may count, where the store has lost that it granted it a slot
   */
  note(shard: Shard, job: number, known?: Known): boolean {
    if (this.#starts === undefined) return true
    const counted = chargesOf(shard, job).slice(0, quotasOf(shard.limit).length)
    const mostOf = (index: number) =>
      quotasOf(shard.limit)[index]!.each === undefined ? known?.knownCost : known?.knownTokens
    const charges = counted.map((units, index) => Math.min(units, mostOf(index) ?? units))
    const limits = this.#setup.limits.slice(0, shard.meta.book + 1)
    const fits = quotasOf(shard.limit).every(({ window }, index) => {
      const amount = Math.max(...limits.map((limit) => quotasOf(limit)[index]?.amount ?? 0))
      const used = this.#used(shard, index, window)
      return used === 0 || used + charges[index]! <= amount
    })
    this.#add(shard, job, known)
    return fits
  }

  #add(shard: Shard, job: number, known: Partial<Known> = {}): void {
    this.forgetOld()
    const free = this.#starts!.find(({ cost }) => cost === 0)
    if (free === undefined) throw new Error(`more than ${ROOM} starts in one window`)
    for (const start of this.#starts!)
      if (start.job === job + 1) Object.assign(start, { job: 0, isSettled: 0 })
    const { tokens = 0 } = this.#setup.jobs[job]!
    const each = quotasOf(shard.limit).find((quota) => quota.each !== undefined)?.each ?? 0
    const cost = Math.min(shard.cost(job), known.knownCost ?? ANY_COST)
    const counted = Math.min(tokens || each, known.knownTokens ?? ANY_COST)
    Object.assign(free, { job: job + 1, at: 0, cost, tokens: counted, isSettled: 0 })
    this.sort()
  }

  #used(shard: Shard, index: number, window: number): number {
    const countsTokens = quotasOf(shard.limit)[index]!.each !== undefined
    let used = 0
    for (const { at, cost, tokens } of this.#starts!) if (at > -window) used += countsTokens ? tokens : cost
    return used
  }

  /** The store has lost the starts after that time: none counts more than it knows of, nor will it hear of their ends. */
  forgetCosts(since: number, { knownCost, knownTokens }: Known): void {
    for (const start of this.#starts ?? []) {
      if (start.at < since) continue
      const { cost, tokens } = start
      Object.assign(start, {
        cost: Math.min(cost, knownCost),
        tokens: Math.min(tokens, knownTokens),
        job: 0,
        isSettled: 0,
      })
    }
  }

  /** The attempt says what it took; false: it said that before, or never started. */
  settle(job: number, tokens: number): boolean {
    const start = this.#find(job)
    if (start === undefined || start.isSettled === 1) return false
    Object.assign(start, { tokens, isSettled: 1 })
    return true
  }

  /** A job is lost that has its slot: it may have started, up to now. */
  noteLost(shard: Shard, job: number): void {
    if (this.#starts === undefined) return
    const start = this.#find(job)
    if (start === undefined) this.#add(shard, job)
    else start.at = 0
    this.sort()
  }

  /** Whether the store counts no more than what has started, and the slot that it has granted. */
  coversUse(shard: Shard): boolean {
    if (this.#starts === undefined || !this.#isExact) return true
    const granted = shard.bucket.granted - 1
    const isAhead = granted !== -1 && this.#find(granted) === undefined
    const charges = isAhead ? chargesOf(shard, granted) : []
    return quotasOf(shard.limit).every((quota, index) => {
      let counted = 0
      for (const [end, used] of shard.use.of(quota).entries()) if (end > 0) counted += used
      return counted <= this.#used(shard, index, Number.POSITIVE_INFINITY) + (charges[index] ?? 0)
    })
  }

  elapse(by: number): void {
    shiftCells(this.#cells, this.#times, by, this.#ends)
  }

  clear(): void {
    for (const start of this.#starts ?? []) this.#forget(start)
  }

  forgetOld(): void {
    const oldest = -(this.#longest + this.#setup.durations.farthest + 1)
    for (const start of this.#starts ?? []) if (start.at <= oldest) this.#forget(start)
  }

  /** One form: only of an attempt that may still run does it matter whose it is. */
  settleForm({ jobs }: Shard): void {
    if (this.#starts === undefined) return
    this.forgetOld()
    for (const start of this.#starts) {
      const { state } = jobs[start.job - 1] ?? { state: -1 }
      if (state !== GRANTED && state !== RUNNING) Object.assign(start, { job: 0, isSettled: 0 })
    }
    this.sort()
  }

  sort(): void {
    const starts = this.#starts ?? []
    const fields = starts.map(({ job, at, cost, tokens, isSettled }) => ({
      job,
      at,
      cost,
      tokens,
      isSettled,
    }))
    fields.sort(
      (one, other) =>
        other.at - one.at ||
        other.job - one.job ||
        other.cost - one.cost ||
        other.tokens - one.tokens ||
        other.isSettled - one.isSettled,
    )
    for (const [index, start] of starts.entries()) Object.assign(start, fields[index])
  }
}
