import type { MutantName } from '../mutants.ts'
import type { ModelLimit, Setup } from '../setup.ts'
import { type Cells, cellsOf, type Fields, JobList, recordType } from './cells.ts'
import type { Member } from './member.ts'
import { clampCells, type Ends, shiftCells } from './times.ts'
import { Use } from './use.ts'

export const ABSENT = 0
export const WAITING = 1
export const HANDED = 2
export const GRANTED = 3
export const RUNNING = 4
export const RETRYING = 5
export const COMPLETED = 6
export const FAILED = 7
export const CANCELLED = 8
export const EXPIRED = 9
export const STATE_NAMES = [
  'absent',
  'waiting',
  'handed',
  'granted',
  'running',
  'retrying',
  'completed',
  'failed',
  'cancelled',
  'expired',
]

export const LINE = 0
export const RETRY = 1
export const BACK = 2
export const KIND_NAMES = ['line', 'retry', 'back']

/** The names under which `worker` of a job may stand, beside the workers 1 and 2. */
export const NO_ONE = 0
export const FROZEN = 3
export const CANCELLER = 4
/** A process that is gone; one that takes its place has another name. */
export const GONE = 5
/** The same, of the one whose call is still on its way. */
export const LATE_SENDER = 6

export const NO_STEP = 0

const BUCKET = recordType([
  'exists',
  'limit',
  'next',
  'from',
  'frozen',
  'paused',
  'lastCost',
  'lastStart',
  'startedCost',
  'linesTurn',
  'granted',
  'grantedSlot',
  'grantedCost',
  /** Its score in `:due`; `far`: it is not in it. */
  'due',
  /** Only of mutants: how many places are taken. */
  'taken',
])
const META = recordType([
  'book',
  'heardAt',
  'isKnownRun',
  'hasName',
  'quarantine',
  'lostAt',
  'lostCost',
  'costliest',
  'mostTokens',
  'stepAt',
  'stepBy',
  'stepTellers',
  'isRewinding',
  'leader',
  'leaderUntil',
  'epoch',
  'fence',
])
const JOB = recordType([
  'state',
  'kind',
  'epoch',
  'worker',
  'readyAt',
  'floor',
  'attempt',
  'fence',
  'crashes',
  'slot',
  'isOnGrid',
  'departedAt',
  'isSettled',
  /** Tokens that its start was charged, in the count that the limit has now. */
  'charged',
  /** That does not surely stand where its start was counted. */
  'isMoved',
  /** When its lease ends; `far`: it has none. */
  'lease',
  /** It was handed over before a restart: where it has no slot, it is to go back to its line. */
  'isUnsure',
  'deadline',
  /** Its score in `:deadlines`; `far`: it is not in it. */
  'expiry',
  'endedAt',
])

export type Bucket = ReturnType<typeof BUCKET.over>
export type Meta = ReturnType<typeof META.over>
export type Job = ReturnType<typeof JOB.over>

/** Fields that hold times. They count from now, so that states that differ only in their date are one state. */
const BUCKET_TIMES = ['next', 'from', 'frozen', 'lastStart', 'grantedSlot', 'due'] as const
const META_TIMES = ['heardAt', 'quarantine', 'lostAt', 'stepAt', 'leaderUntil'] as const
const JOB_TIMES = [
  'readyAt',
  'floor',
  'slot',
  'departedAt',
  'lease',
  'deadline',
  'expiry',
  'endedAt',
] as const

/** What the store holds of one bucket, and of its shard. The fields are those of scripts/lib/{bucket,shard,state,job}.lua. */
export class Shard {
  static sizeFor(setup: Setup): number {
    return BUCKET.size + META.size + setup.jobs.length * (JOB.size + 2) + Use.sizeFor(setup)
  }

  readonly setup: Setup
  readonly ends: Ends
  readonly bucket: Bucket
  readonly meta: Meta
  readonly jobs: readonly Job[]
  /** What counts in the quotas of the bucket. */
  readonly use: Use
  readonly line: JobList
  readonly handed: JobList
  readonly cells: Cells
  /** Its place below totals; undefined: it is below none. */
  member: Member | undefined
  readonly #times: readonly number[]
  /** Times of which it does not matter how long ago they are. */
  readonly #pasts: readonly number[]
  /** The same, as long as quotas count. */
  readonly #counted: readonly number[]

  constructor(cells: Cells, base: number, setup: Setup, ends: Ends) {
    const count = setup.jobs.length
    this.setup = setup
    this.ends = ends
    this.bucket = BUCKET.over(cells, base)
    this.meta = META.over(cells, base + BUCKET.size)
    const lists = base + BUCKET.size + META.size
    this.line = new JobList(cells, lists, count)
    this.handed = new JobList(cells, lists + count, count)
    const jobs = lists + 2 * count
    this.jobs = setup.jobs.map((_, job) => JOB.over(cells, jobs + job * JOB.size))
    this.use = new Use(cells, jobs + count * JOB.size, setup, ends)
    this.cells = cells
    this.#times = [
      ...cellsOf(this.bucket, BUCKET_TIMES),
      ...cellsOf(this.meta, META_TIMES),
      ...this.jobs.flatMap((job) => cellsOf(job, JOB_TIMES)),
      ...this.use.times,
    ]
    this.#pasts = [
      ...cellsOf(this.bucket, ['next', 'from', 'frozen', 'lastStart']),
      ...cellsOf(this.meta, ['quarantine', 'stepAt', 'leaderUntil']),
      ...this.jobs.flatMap((job) => cellsOf(job, ['readyAt', 'floor', 'slot', 'endedAt'])),
    ]
    this.#counted = [
      ...cellsOf(this.bucket, ['grantedSlot']),
      ...cellsOf(this.meta, ['lostAt']),
      ...this.jobs.flatMap((job) => cellsOf(job, ['departedAt'])),
      ...this.use.pasts,
    ]
  }

  has(mutant: MutantName): boolean {
    return this.setup.mutants.has(mutant)
  }

  get limit(): ModelLimit {
    return this.setup.limits[this.bucket.limit]!
  }

  cost(job: number): number {
    return this.setup.jobs[job]!.cost
  }

  /** As a store that was never used; the server is known, and the line has its name. */
  clear(): void {
    const { never, far } = this.ends
    this.forgetBucket()
    const meta: Fields<string> = this.meta
    for (const name of [
      'book',
      'lostCost',
      'costliest',
      'mostTokens',
      'stepBy',
      'stepTellers',
      'isRewinding',
    ])
      meta[name] = 0
    Object.assign(this.meta, { heardAt: 0, isKnownRun: 1, hasName: 1, quarantine: never, lostAt: never })
    Object.assign(this.meta, { stepAt: never, leader: 0, leaderUntil: never, epoch: 0, fence: 0 })
    for (const list of [this.line, this.handed]) for (const job of list.toArray()) list.remove(job)
    for (const job of this.jobs) this.forgetJob(job, far)
  }

  forgetBucket(): void {
    const { never, far } = this.ends
    const { bucket } = this
    Object.assign(bucket, { exists: 0, limit: this.meta.book, next: never, from: never, frozen: never })
    Object.assign(bucket, { paused: 0, lastCost: 0, lastStart: never, startedCost: 0, linesTurn: 0 })
    Object.assign(bucket, { granted: 0, grantedSlot: never, grantedCost: 0, due: far, taken: 0 })
    this.use.clear()
  }

  forgetJob(job: Job, far = this.ends.far): void {
    const { never } = this.ends
    Object.assign(job, { state: ABSENT, kind: LINE, epoch: 0, worker: NO_ONE, readyAt: never, floor: never })
    Object.assign(job, {
      attempt: 0,
      fence: 0,
      crashes: 0,
      slot: never,
      isOnGrid: 0,
      departedAt: never,
      isSettled: 0,
      charged: 0,
      isMoved: 0,
      lease: far,
      isUnsure: 0,
    })
    Object.assign(job, { deadline: far, expiry: far, endedAt: never })
  }

  /** Time passes, or the clock is moved: all that is stored is that much longer ago. */
  shift(by: number): void {
    shiftCells(this.cells, this.#times, by, this.ends)
    this.use.shift(by)
  }

  /** Makes one of what is so long ago that no verb can tell it apart. */
  settle(oldest: number, counted: number): void {
    clampCells(this.cells, this.#pasts, oldest, this.ends)
    clampCells(this.cells, this.#counted, counted, this.ends)
  }
}
