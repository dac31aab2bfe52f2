import { ACCEPTED, FREE } from '../../actors/world.ts'
import type { FaultKind, ModelLimit } from '../../setup.ts'
import { type Cells, recordType } from '../../store/cells.ts'
import { GRANTED } from '../../store/shard.ts'
import { type Ends, shiftCells, shiftTimes } from '../../store/times.ts'
import { Fairness } from '../fairness.ts'
import type { FamilySetup } from '../setup.ts'
import { Starts } from '../starts.ts'
import { Family, type Known } from '../store/family.ts'

const GLOBALS = recordType(['faults', 'returns', 'freezes', 'pauses'])
const TOLD = recordType([
  'told',
  /** Starts of this attempt that the law allows. */
  'spare',
  'hasStarted',
  /** A fault may have hit its way to a worker. */
  'isExcused',
  /** It had its slot before the freeze or the pause. */
  'isExempt',
  /** It had its slot before a limit was changed: a bit for each of those. */
  'grantedBefore',
])
const WORKER = recordType(['isStopped'])
const ENTRY = recordType([
  'phase',
  'job',
  'epoch',
  'until',
  'startAt',
  /** The latest start with this slot. */
  'latest',
  'slot',
  'hasMissed',
  'startedAt',
  /** Its process was stopped since its lease was renewed. */
  'isHit',
])
const PAIR = recordType(['job', 'epoch'])

export type FamilyEntry = ReturnType<typeof ENTRY.over>
export type FamilyPair = ReturnType<typeof PAIR.over>
export interface FamilyWorker {
  readonly state: ReturnType<typeof WORKER.over>
  readonly entries: readonly FamilyEntry[]
}

/** Everything: the store, the processes, what is on its way, and what only an onlooker knows. */
export class FamilyWorld {
  readonly setup: FamilySetup
  readonly ends: Ends
  readonly cells: Cells
  readonly family: Family
  readonly fairness: Fairness
  readonly starts: Starts
  readonly globals: ReturnType<typeof GLOBALS.over>
  readonly told: readonly ReturnType<typeof TOLD.over>[]
  readonly workers: readonly FamilyWorker[]
  /** Jobs that each scheduler claimed and did not hand to BullMQ yet. A job is its number plus 1; 0 is none. */
  readonly schedulers: readonly (readonly FamilyPair[])[]
  readonly deliveries: readonly FamilyPair[]
  /** All that may name a handover of a job. */
  readonly references: readonly FamilyPair[]
  /** By bucket and then by total: the earliest time of the next start, by a clock that is never moved. */
  readonly earliest: readonly number[]
  /** The same of jobs that had their slots before the limit was changed. */
  readonly earliestBefore: readonly number[]
  /** What the last start cost. */
  readonly startedCosts: readonly number[]
  /** In the same order: until when each is frozen. */
  readonly frozenUntil: readonly number[]
  /** In the same order: whether each is paused. */
  readonly paused: readonly number[]
  readonly #workerSize = WORKER.size
  readonly #timesOfLimits: readonly number[]
  breach: string | undefined

  /** @param isCounting times, tags and epochs may grow without bound, as in a walk */
  constructor(setup: FamilySetup, isCounting = false) {
    this.setup = setup
    const jobs = setup.jobs.length
    const familySize = Family.sizeFor(setup)
    const limited = setup.buckets.length + setup.totals.length
    const size =
      familySize +
      Fairness.sizeFor(setup) +
      Starts.sizeFor(setup) +
      GLOBALS.size +
      jobs * TOLD.size +
      setup.workers * (WORKER.size + setup.holds * ENTRY.size) +
      (setup.schedulers + 1) * jobs * PAIR.size +
      5 * limited
    const padded = Math.ceil(size / 4) * 4
    this.cells = isCounting ? new Float64Array(padded) : new Int8Array(padded)
    this.ends = isCounting ? { never: -1e12, far: 1e12 } : { never: -100, far: 100 }
    let base = 0
    const next = (taken: number) => {
      base += taken
      return base - taken
    }
    const { cells } = this
    this.family = new Family(cells, next(familySize), setup, this.ends)
    this.fairness = new Fairness(this, next(Fairness.sizeFor(setup)))
    this.starts = new Starts(this, cells, next(Starts.sizeFor(setup)))
    this.globals = GLOBALS.over(cells, next(GLOBALS.size))
    this.told = setup.jobs.map(() => TOLD.over(cells, next(TOLD.size)))
    this.workers = Array.from({ length: setup.workers }, () => ({
      state: WORKER.over(cells, next(WORKER.size)),
      entries: Array.from({ length: setup.holds }, () => ENTRY.over(cells, next(ENTRY.size))),
    }))
    const pairs = () => setup.jobs.map(() => PAIR.over(cells, next(PAIR.size)))
    this.schedulers = Array.from({ length: setup.schedulers }, pairs)
    this.deliveries = pairs()
    const ofEach = () => Array.from({ length: limited }, () => next(1))
    this.earliest = ofEach()
    this.earliestBefore = ofEach()
    this.startedCosts = ofEach()
    this.frozenUntil = ofEach()
    this.paused = ofEach()
    this.#timesOfLimits = [...this.earliest, ...this.earliestBefore, ...this.frozenUntil]
    this.references = [
      ...this.deliveries,
      ...this.schedulers.flat(),
      ...this.workers.flatMap(({ entries }) => entries),
    ]
    this.#begin()
  }

  #begin(): void {
    const { setup, ends, cells } = this
    this.family.clear()
    const { faults, returns, freezes, pauses } = setup
    Object.assign(this.globals, { faults, returns, freezes, pauses })
    for (const { entries } of this.workers) for (const entry of entries) this.freeEntry(entry)
    for (const cell of this.timesOfLimits) cells[cell] = ends.never
  }

  /** The size of a worker in cells, from its state on. */
  get workerSize(): number {
    return this.#workerSize + this.setup.holds * ENTRY.size
  }

  known(job: number): Known {
    return this.family.jobs[job]!
  }

  record(job: number) {
    const { shard, index } = this.known(job)
    return shard.jobs[index]!
  }

  /** The places of its bucket and of the totals above that, among all buckets and then all totals. */
  limitsOf(job: number): readonly number[] {
    const { bucket } = this.known(job)
    const { places, totals } = this.family
    return [bucket, ...places[bucket]!.totals.map((total) => places.length + totals.indexOf(total))]
  }

  get timesOfLimits(): readonly number[] {
    return this.#timesOfLimits
  }

  /** Those of a bucket or total up to now, the last one in force. */
  limitsUpTo(limited: number): readonly ModelLimit[] {
    const { shards, totals } = this.family
    const shard = shards[limited]
    if (shard !== undefined) return shard.setup.limits.slice(0, shard.meta.book + 1)
    const total = totals[limited - shards.length]!
    return total.limits.slice(0, total.bucket.book + 1)
  }

  /** The jobs that have slots below that bucket or total. */
  grantedBelow(limited: number): number[] {
    const jobs = [...this.setup.jobs.keys()]
    return jobs.filter((job) => this.record(job).state === GRANTED && this.limitsOf(job).includes(limited))
  }

  isAccepted(job: number): boolean {
    return this.told[job]!.told === ACCEPTED
  }

  spend(kind: FaultKind): boolean {
    if (this.globals.faults === 0 || !this.setup.kinds.includes(kind)) return false
    this.globals.faults -= 1
    return true
  }

  /** @param law of DESIGN.md or LIMITS.md, or a promise of the protocol, by name */
  breaks(law: string): void {
    if (this.setup.law === undefined || this.setup.law === law) this.breach ??= law
  }

  freeEntry(entry: FamilyEntry): void {
    const { never } = this.ends
    Object.assign(entry, { phase: FREE, job: 0, epoch: 0, until: never, startAt: never, latest: never })
    Object.assign(entry, { slot: never, hasMissed: 0, startedAt: never, isHit: 0 })
  }

  /** Time passes everywhere. */
  elapse(by: number): void {
    const { ends } = this
    this.family.shift(by)
    this.starts.elapse(by)
    shiftCells(this.cells, this.timesOfLimits, by, ends)
    for (const { entries } of this.workers) {
      for (const entry of entries)
        shiftTimes(entry, ['until', 'startAt', 'latest', 'slot', 'startedAt'], by, ends)
    }
  }
}
