import { Ledger } from '../ledger.ts'
import type { FaultKind, Setup } from '../setup.ts'
import { type Cells, recordType } from '../store/cells.ts'
import { ANY_COST } from '../store/lease.ts'
import { Shard } from '../store/shard.ts'
import { type Ends, shiftTimes } from '../store/times.ts'

export const WORKERS = 2
export const SCHEDULERS = 2
/** Jobs that one worker may hold, and deliveries in BullMQ. */
const HOLDS = 2
const DELIVERIES = 4

/** What a worker does with a job that it holds. */
export const FREE = 0
/** It waits for its turn to ask the gate. */
export const QUEUED = 1
/** Only of a mutant: the gate was asked whether it may, and is asked for the slot next. */
export const CHECKED = 2
export const GATED = 3
/** Its handler runs; the store may not know, or knows. */
export const STARTED = 4
export const REPORTED = 5
/** Its handler has ended, and the store has not answered yet; whether it knows of the start. */
export const ENDING = 6
export const ENDING_REPORTED = 7
/** It waits at the gate, and is to ask again later. */
export const WAITS = 8

/** What a producer knows of its job. */
export const UNASKED = 0
export const ACCEPTED = 1
export const REFUSED = 2
export const DONE = 3
export const WITHDRAWN = 4
export const LAPSED = 5
/** Only of a mutant: there was room when it was asked for. */
export const PROMISED = 6

export const OUTCOMES = ['completed', 'retry', 'freeze', 'back'] as const

const GLOBALS = recordType([
  'faults',
  'retries',
  'freezes',
  'cancels',
  'settles',
  'reuses',
  'isAway',
  'hasCopy',
  /** Data of the store were lost: what is promised then is less. */
  'isLossy',
  /** The earliest time of the next start, by a clock that is never moved. */
  'tat',
  'startedCost',
  /** After data were lost: the cost of the costliest job of which the store still knows. What has cost more is forgotten. */
  'knownCost',
  /** The same of tokens; 0: more may be lost than quotas allow for. */
  'knownTokens',
  /** When what is on the disk was written. */
  'copiedAt',
  'frozenUntil',
  'topFence',
])
const TOLD = recordType([
  'told',
  /** Starts of this attempt that the law allows. */
  'spare',
  'hasStarted',
  /** It had its slot before the freeze. */
  'isExempt',
  'isRetry',
  /** First attempts that went before it though it was ready: a bit for each. */
  'passed',
  /** A fault may have hit its way to a worker. */
  'isExcused',
])
const WORKER = recordType([
  'isStopped',
  /** By how much the store's clock was moved without its notice, and what it has to report. */
  'skew',
  'unreported',
])
const ENTRY = recordType([
  'phase',
  'job',
  'epoch',
  'until',
  'startAt',
  'slot',
  'hasMissed',
  'startedAt',
  'outcome',
  /** The latest start of the job was here. */
  'isLatest',
  /** Its process was stopped since its lease was renewed. */
  'isHit',
])
const SCHEDULER = recordType(['isStopped'])
const PAIR = recordType(['job', 'epoch'])
const LATE = recordType(['verb', 'worker', 'job', 'epoch', 'missed', 'startedAt', 'outcome', 'isLatest'])

export type Entry = ReturnType<typeof ENTRY.over>
export type Pair = ReturnType<typeof PAIR.over>
export interface Worker {
  readonly state: ReturnType<typeof WORKER.over>
  readonly entries: readonly Entry[]
}
export interface Scheduler {
  readonly state: ReturnType<typeof SCHEDULER.over>
  /** Jobs that were claimed and not handed to BullMQ yet. A job is its number plus 1; 0 is none. */
  readonly claimed: readonly Pair[]
}

/** Everything: the store, the processes, what is on its way, and what only an onlooker knows. */
export class World {
  readonly setup: Setup
  readonly ends: Ends
  readonly cells: Cells
  readonly shard: Shard
  /** What is on the disk, or at the replica. */
  readonly copy: Shard
  readonly globals: ReturnType<typeof GLOBALS.over>
  readonly told: readonly ReturnType<typeof TOLD.over>[]
  readonly workers: readonly Worker[]
  readonly schedulers: readonly Scheduler[]
  readonly deliveries: readonly Pair[]
  /** A call that is on its way though its sender has given it up. */
  readonly late: ReturnType<typeof LATE.over>
  /** Of the starts that count in quotas. */
  readonly ledger: Ledger
  readonly shardSize: number
  /** All that may name a handover of a job: in BullMQ, with a scheduler or worker, on its way. A job is its number plus 1. */
  readonly references: readonly Pair[]
  readonly #faults: ReadonlySet<FaultKind>
  /** The law that the last step has broken. */
  breach: string | undefined

  /** @param isCounting times and epochs may grow without bound, as in a walk; otherwise they are small */
  constructor(setup: Setup, isCounting = false) {
    this.setup = setup
    const jobs = setup.jobs.length
    this.ends = isCounting ? { never: -1e12, far: 1e12 } : { never: -100, far: 100 }
    this.shardSize = Shard.sizeFor(setup)
    const hasCopies = setup.kinds.includes('rollback')
    const workerSize = WORKER.size + HOLDS * ENTRY.size
    const schedulerSize = SCHEDULER.size + jobs * PAIR.size
    const size =
      this.shardSize * (hasCopies ? 2 : 1) +
      GLOBALS.size +
      jobs * TOLD.size +
      WORKERS * workerSize +
      SCHEDULERS * schedulerSize +
      DELIVERIES * PAIR.size +
      LATE.size +
      Ledger.sizeFor(setup)
    const padded = Math.ceil(size / 4) * 4
    this.cells = isCounting ? new Float64Array(padded) : new Int8Array(padded)
    let base = 0
    const next = (taken: number) => {
      base += taken
      return base - taken
    }
    this.shard = new Shard(this.cells, next(this.shardSize), setup, this.ends)
    this.copy = hasCopies ? new Shard(this.cells, next(this.shardSize), setup, this.ends) : this.shard
    this.globals = GLOBALS.over(this.cells, next(GLOBALS.size))
    this.told = setup.jobs.map(() => TOLD.over(this.cells, next(TOLD.size)))
    this.workers = Array.from({ length: WORKERS }, () => ({
      state: WORKER.over(this.cells, next(WORKER.size)),
      entries: Array.from({ length: HOLDS }, () => ENTRY.over(this.cells, next(ENTRY.size))),
    }))
    this.schedulers = Array.from({ length: SCHEDULERS }, () => ({
      state: SCHEDULER.over(this.cells, next(SCHEDULER.size)),
      claimed: setup.jobs.map(() => PAIR.over(this.cells, next(PAIR.size))),
    }))
    this.deliveries = Array.from({ length: DELIVERIES }, () => PAIR.over(this.cells, next(PAIR.size)))
    this.late = LATE.over(this.cells, next(LATE.size))
    this.ledger = new Ledger(this.cells, next(Ledger.sizeFor(setup)), setup, this.ends)
    this.references = [
      ...this.deliveries,
      ...this.schedulers.flatMap(({ claimed }) => claimed),
      ...this.workers.flatMap(({ entries }) => entries),
      this.late,
    ]
    this.#faults = new Set(setup.kinds)
    this.#begin()
  }

  #begin(): void {
    const { globals, setup, ends } = this
    this.shard.clear()
    if (this.copy !== this.shard) this.copy.clear()
    const { faults, retries, freezes, cancels, settles, reuses } = setup
    Object.assign(globals, {
      faults,
      retries,
      freezes,
      cancels,
      settles,
      reuses,
      tat: ends.never,
      frozenUntil: ends.never,
      knownCost: ANY_COST,
      knownTokens: ANY_COST,
      copiedAt: ends.never,
    })
  }

  /** Takes one of the faults that are left; false: there is none of that kind. */
  spend(kind: FaultKind): boolean {
    if (this.globals.faults === 0 || !this.#faults.has(kind)) return false
    this.globals.faults -= 1
    return true
  }

  /** @param law of DESIGN.md, or a promise of the protocol, by name */
  breaks(law: string): void {
    this.breach ??= law
  }

  freeEntry(entry: Entry): void {
    const { never } = this.ends
    entry.phase = FREE
    entry.job = 0
    entry.epoch = 0
    entry.until = never
    entry.startAt = never
    entry.slot = never
    entry.hasMissed = 0
    entry.startedAt = never
    entry.outcome = 0
    entry.isLatest = 0
    entry.isHit = 0
  }

  forgetLate(): void {
    const { never } = this.ends
    Object.assign(this.late, { verb: 0, worker: 0, job: 0, epoch: 0, missed: never, startedAt: never })
    Object.assign(this.late, { outcome: 0, isLatest: 0 })
  }

  /** Time passes everywhere. */
  elapse(by: number): void {
    this.shard.shift(by)
    if (this.copy !== this.shard && this.globals.hasCopy === 1) this.copy.shift(by)
    shiftTimes(this.globals, ['tat', 'frozenUntil', 'copiedAt'], by, this.ends)
    for (const { entries } of this.workers) {
      for (const entry of entries) shiftTimes(entry, ['until', 'startAt', 'slot', 'startedAt'], by, this.ends)
    }
    shiftTimes(this.late, ['missed', 'startedAt'], by, this.ends)
    this.ledger.elapse(by)
  }

  /** The clock of the store is set forward, or back where `by` is negative; no other clock is. */
  moveClock(by: number): void {
    this.shard.shift(by)
    for (const { state, entries } of this.workers) {
      state.skew += by
      for (const entry of entries) shiftTimes(entry, ['slot', 'startedAt'], by, this.ends)
    }
    shiftTimes(this.late, ['missed', 'startedAt'], by, this.ends)
  }
}
