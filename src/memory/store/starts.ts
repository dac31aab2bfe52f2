import * as bucketCore from '../../core/bucket.ts'
import type { Limit } from '../../core/limit.ts'
import { type Child, type Total, totalsAbove, useOf } from '../../core/total.ts'
import { departUnder } from '../../core/total-departures.ts'
import type { Costs, Quotas } from '../../core/usage.ts'
import type { Call } from '../../line/attempt.ts'
import type { Pace } from '../../line/job.ts'
import { checkUnits, uncountedUnits } from '../../line/settle.ts'
import type { Agenda } from './agenda.ts'
import { chargeStart, forgetOver, moveCharge, settleCharge, uncharged } from './charges.ts'
import type { Member, SharedStart } from './family.ts'
import { holdOf } from './held-turns.ts'
import type { JobLedger } from './job-ledger.ts'
import type { JobRecord } from './job-record.ts'
import type { LiveBuckets } from './live-buckets.ts'
import type { MemoryBucket } from './memory-bucket.ts'
import type { WatchedBuckets } from './watched-buckets.ts'

/** What a claimed job does to its bucket: it reserves a slot there, begins, and says what it really took. */
export class Starts {
  readonly #buckets: LiveBuckets
  readonly #jobs: JobLedger
  readonly #agenda: Agenda
  readonly #watched: WatchedBuckets

  constructor(buckets: LiveBuckets, jobs: JobLedger, agenda: Agenda, watched: WatchedBuckets) {
    this.#buckets = buckets
    this.#jobs = jobs
    this.#agenda = agenda
    this.#watched = watched
  }

  /** How the job that was claimed departs from its bucket. Call it before `gate`, which changes all of it. */
  pace({ bucket }: JobRecord): Pace & { readonly due: number; readonly tolerance: number } {
    const { pattern, lastStart, limit } = bucket
    const spacing = bucketCore.spacingAfterStart(bucket)
    return { pattern, lastStart, spacing, due: this.#agenda.slotOf(bucket), tolerance: limit.tolerance }
  }

  /** handed -> running: reserves the slot for a handler that starts at `now`, and returns it. */
  gate(job: JobRecord, now: number): number {
    const { bucket, cost } = job
    job.become('running')
    this.#watched.noteStart(job, now)
    const due = this.#agenda.slotOf(bucket)
    const slot = bucketCore.reserveDue(bucket, cost, due, now)
    bucketCore.depart(bucket, cost, now)
    if (bucket.usage !== undefined) this.#charge(job, now)
    if (bucket.member !== undefined) job.shared = departFrom(bucket.member, job, due, now)
    job.attempt++
    job.fence = this.#jobs.countStart()
    job.departedAt = now
    bucket.running++
    if (job.isTurn) setDeparting(bucket, true)
    this.#agenda.arm(bucket, now)
    return slot
  }

  /**
   * Counts the next departure from the latest time at which the handler of the job, whose slot `gate` returned, can have
   * begun, and returns that time. Call it before anything else of the bucket departs, or of its family.
   */
  began(job: JobRecord, slot: number, call: Call): number {
    const { bucket, shared } = job
    job.departedAt = call.calledAt
    const startedBy = beganBy(bucket.limit, call)
    let isMoved = hasBegun(bucket, slot, startedBy)
    if (job.charge !== undefined) moveCharge(bucket, job.charge, job, startedBy)
    if (shared !== undefined) isMoved = hasBegunUnder(shared, job, call) || isMoved
    if (isMoved || bucket.isDeparting) {
      setDeparting(bucket, false)
      this.#agenda.arm(bucket, startedBy)
    }
    return startedBy
  }

  #charge(job: JobRecord, now: number): void {
    const { bucket } = job
    this.#buckets.forgetOver(bucket, now)
    const charge = chargeStart(bucket, job, now)
    if (charge !== undefined) job.charge = charge
  }

  /** Counts what a start really used. Returns false after the first time, and once it is over. @throws UnknownUnitError */
  settle(job: JobRecord, amounts: Costs, now: number): boolean {
    const { bucket, isTurn, departedAt = now, state, charge, shared } = job
    const isLate = isTurn ? now - departedAt >= holdOf(job) : state !== 'running'
    if (isLate || charge?.isOver || shared?.some((start) => start.charge?.isOver)) return false
    const quotas = this.#quotasOver(bucket)
    if (bucket.isKept) checkUnits(bucket.key, quotas, amounts)
    else if (uncountedUnits(quotas, amounts).length > 0) return false
    if (!this.#settleEach(job, amounts)) return false
    if (bucket.isKept) this.#agenda.rearm(bucket, now)
    else this.#agenda.families.armTotal(bucket.member!.total, now)
    return true
  }

  /** The bucket of a turn may be forgotten, and totals above it: those that live still count its start. */
  #settleEach(job: JobRecord, amounts: Costs): boolean {
    const { bucket } = job
    const own = bucket.isKept ? (job.charge ?? uncharged(bucket, job)) : undefined
    if (own !== undefined) {
      job.charge = own
      settleCharge(bucket, own, amounts)
    }
    if (bucket.member === undefined) return own !== undefined
    let isAny = own !== undefined
    const before = job.shared ?? []
    const settled = { cost: job.cost, costs: { ...job.costs, ...amounts } }
    let child: Child | undefined = bucket.isKept ? bucket.member : undefined
    job.shared = this.#liveTotals(bucket).map((total) => {
      const { limit } = total.bucket
      if (child !== undefined) total.queue.correct(child, useOf(limit, settled) - useOf(limit, job))
      child = total
      const start = before.find((other) => other.total === total)
      const charge = start?.charge ?? uncharged(total.bucket, job)
      if (charge !== undefined) {
        isAny = true
        settleCharge(total.bucket, charge, amounts)
      }
      return { total, slot: start?.slot ?? Number.NEGATIVE_INFINITY, charge }
    })
    return isAny
  }

  /** The quotas of the bucket, while it is not forgotten, and of the totals above it. */
  #quotasOver(bucket: MemoryBucket): Quotas {
    const limits = this.#liveTotals(bucket).map((total) => total.bucket.limit)
    return { quotas: (bucket.isKept ? [bucket.limit, ...limits] : limits).flatMap(({ quotas }) => quotas) }
  }

  /** The totals above the bucket, the innermost first. Where it is forgotten, the first of them may be, too. */
  #liveTotals({ member }: MemoryBucket): Total[] {
    if (member === undefined) return []
    return [...totalsAbove(member)].filter((total) => this.#buckets.families.get(total.path) === total)
  }
}

/** All totals above count that the job departs at `now`, which was due since `due`. */
function departFrom(member: Member, job: JobRecord, due: number, now: number): SharedStart[] {
  if (job.isTurn) member.family.turns--
  return departUnder(member, job, due, now).map(({ total, slot }) => {
    forgetOver(total.bucket, now)
    return { total, slot, charge: chargeStart(total.bucket, job, now) }
  })
}

/** By when the handler has certainly begun. Where nothing is tolerated, a guess is not good enough. */
function beganBy({ tolerance }: Limit, { calledAt, returnedAt, delay }: Call): number {
  return tolerance > 0 ? calledAt + delay : returnedAt
}

/** Counts the next departure from `at`; returns whether it is later than it was. */
function hasBegun(bucket: bucketCore.Bucket, slot: number, at: number): boolean {
  // One that was not on the grid was reserved for the time at which the gate was passed.
  const isOnGrid = slot < bucket.lastStart
  return bucketCore.startedBy(bucket, slot, isOnGrid, at)
}

/** The same for all totals above; returns whether one of them departs later. */
function hasBegunUnder(shared: readonly SharedStart[], job: JobRecord, call: Call): boolean {
  let isMoved = false
  for (const { total, slot, charge } of shared) {
    const at = beganBy(total.bucket.limit, call)
    isMoved = hasBegun(total.bucket, slot, at) || isMoved
    moveCharge(total.bucket, charge, job, at)
  }
  return isMoved
}

/** The caller of a turn departs, and until it has continued nothing else does of the bucket and of its family. */
function setDeparting(bucket: MemoryBucket, isDeparting: boolean): void {
  bucket.isDeparting = isDeparting
  if (bucket.member === undefined) return
  for (const total of totalsAbove(bucket.member)) total.isDeparting = isDeparting
}
