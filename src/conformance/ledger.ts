import type {
  AnswerEvent,
  CrashEvent,
  EndEvent,
  FaultEvent,
  HistoryEvent,
  ReleaseEvent,
  ReturnEvent,
  SettleEvent,
  StartEvent,
} from './history.ts'
import { createJob, inLine, isLive, isRunning, type JobRecord, type JobState } from './job-record.ts'
import { KeyRecord } from './key-record.ts'
import { whyUnsettleable } from './settling.ts'

/** Follows a history, event by event, so that each law can be judged by what was known at that moment. */
export class Ledger {
  /** The accepted jobs, in the order of their verdicts. */
  readonly accepted: JobRecord[] = []
  /** Accepted jobs by state. */
  readonly counts: Record<JobState, number> = {
    waiting: 0,
    returned: 0,
    running: 0,
    interrupted: 0,
    ended: 0,
    rejected: 0,
  }
  readonly #keys = new Map<string, KeyRecord>()
  readonly #jobs = new Map<string, JobRecord>()
  readonly #settle: number
  readonly #lag: number
  readonly #isMidway: boolean
  #events = 0

  constructor(settle: number, lag: number, isMidway: boolean) {
    this.#settle = settle
    this.#lag = lag
    this.#isMidway = isMidway
  }

  get keys(): Iterable<KeyRecord> {
    return this.#keys.values()
  }

  key(name: string): KeyRecord {
    let key = this.#keys.get(name)
    if (key === undefined) {
      key = new KeyRecord(this.#lag, this.#isMidway)
      this.#keys.set(name, key)
    }
    return key
  }

  /** The job that has the id now: the id of an ended job may be used again. */
  job(id: string): JobRecord | undefined {
    return this.#jobs.get(id)
  }

  apply(event: HistoryEvent): void {
    this.#events += 1
    if ('key' in event && event.type !== 'start') this.key(event.key).forgetIfIdle(event.at)
    switch (event.type) {
      case 'limit':
        this.key(event.key).replaceLimit(event.limit, event.at, this.#settle)
        break
      case 'answer':
        this.#answer(event)
        break
      case 'start':
        this.#start(event)
        break
      case 'settle':
        this.#settleStart(event)
        break
      case 'return':
        this.#return(event)
        break
      case 'end':
        this.#end(event)
        break
      case 'release':
        this.#release(event)
        break
      case 'fault':
        this.#fault(event)
        break
      case 'crash':
        this.#crash(event)
        break
      case 'freeze':
        this.key(event.key).freeze(event)
        break
      case 'unfreeze':
        this.key(event.key).unfreeze()
        break
      case 'pause':
        this.key(event.key).pausedAt ??= event.at
        break
      case 'resume':
        this.key(event.key).pausedAt = undefined
        break
    }
  }

  #answer(event: AnswerEvent): void {
    const known = this.#jobs.get(event.id)
    if (known !== undefined && (isLive(known) || !event.accepted)) return
    const job = createJob(event, event.accepted, event.accepted ? event.seq : undefined)
    this.#jobs.set(job.id, job)
    if (!event.accepted) return
    this.accepted.push(job)
    this.#count(job, 1)
  }

  #start(event: StartEvent): void {
    const key = this.key(event.key)
    const limits = key.limitsAt(event.at)
    let job = this.#jobs.get(event.id)
    const [limit] = limits
    if (limit !== undefined && job !== undefined) {
      const late = event.at - Math.max(key.counted.due(limit), key.frozenUntil, job.readySince)
      if (late > limit.tolerance) key.noteLateStart(event.at, late)
    }
    key.spacing.take({ ...event, at: event.readAt ?? event.at }, limits)
    key.counted.take(event, limits)
    key.warming.take(event, limits)
    if (job === undefined || job.state === 'rejected') {
      job = createJob(event, false, undefined)
      this.#jobs.set(job.id, job)
    }
    if (job.state === 'ended') return
    const charge = { at: event.at, readAt: event.readAt ?? event.at, parts: [] }
    const { fence, isHeld } = event
    key.quotas.start(event.costs === undefined ? job : event, charge, limits)
    key.places.take(event.id)
    job.lastStart = { fence, isHeld, charge, isSettled: false, settleUntil: Number.POSITIVE_INFINITY }
    job.firstStart ??= { at: event.at, place: this.#events }
    job.attempt = event.attempt
    job.starts += 1
    this.#addNews(job, event.at)
    this.#move(job, 'running')
  }

  #settleStart(event: SettleEvent): void {
    const job = this.#jobs.get(event.id)
    if (job?.lastStart === undefined || whyUnsettleable(event, job) !== undefined) return
    job.lastStart.isSettled = true
    this.key(job.key).quotas.settle(job.lastStart.charge, event.amounts, event.at)
  }

  #return(event: ReturnEvent): void {
    const job = this.#jobs.get(event.id)
    if (job === undefined || !isRunning(job)) return
    this.#leavePlace(job, event.at)
    if (event.reason === 'retry') {
      job.attempt += 1
      job.starts = 0
      job.startsAllowed = 1
    } else {
      job.startsAllowed += 1
    }
    job.readySince = Math.max(event.at, event.readyAt)
    this.#addNews(job, event.at)
    this.#move(job, 'returned')
  }

  #end(event: EndEvent): void {
    const job = this.#jobs.get(event.id)
    if (job === undefined || job.state === 'rejected') return
    // The store itself ends jobs that wait, so it knows at once.
    if (isRunning(job)) this.#addNews(job, event.at)
    if (job.lastStart?.isHeld !== true) this.#leavePlace(job, event.at)
    this.#move(job, 'ended')
  }

  #release(event: ReleaseEvent): void {
    const job = this.#jobs.get(event.id)
    if (job !== undefined) this.#leavePlace(job, event.at)
  }

  #leavePlace(job: JobRecord, at: number): void {
    this.key(job.key).places.free(job.id)
    // A turn without a place ends as it departs, and its caller settles it after that.
    if (job.lastStart !== undefined && job.lastStart.isHeld !== false)
      job.lastStart.settleUntil = Math.min(job.lastStart.settleUntil, at + this.#lag)
  }

  #fault({ id, leaseUntil }: FaultEvent): void {
    const job = this.#jobs.get(id)
    if (job === undefined) return
    const { places, warming } = this.key(job.key)
    places.interrupt(id, isLive(job), leaseUntil)
    if (!isLive(job)) return
    warming.doubt()
    job.startsAllowed += 1
    if (job.state === 'waiting') this.#hitInLine(job)
    job.readySince = Number.POSITIVE_INFINITY
    if (job.state === 'running') this.#move(job, 'interrupted')
  }

  #crash({ handed }: CrashEvent): void {
    for (const key of this.keys) key.warming.doubt()
    const passed = new Map<string, number>()
    for (const job of this.accepted) {
      const ahead = passed.get(job.key) ?? 0
      if (!inLine(job) || ahead >= handed) continue
      passed.set(job.key, ahead + 1)
      if (job.state === 'waiting') this.#hitInLine(job)
      job.readySince = Number.POSITIVE_INFINITY
    }
  }

  #hitInLine(job: JobRecord): void {
    if (!job.hitInLine) this.key(job.key).hit += 1
    job.hitInLine = true
  }

  /** Called before the job changes its state: the store learns of it later. */
  #addNews(job: JobRecord, at: number): void {
    if (job.accepted) this.key(job.key).news.add(job, at)
  }

  #move(job: JobRecord, state: JobState): void {
    this.#count(job, -1)
    if (job.state === 'waiting' && job.hitInLine) this.key(job.key).hit -= 1
    job.state = state
    this.#count(job, 1)
  }

  #count(job: JobRecord, sign: 1 | -1): void {
    if (!job.accepted) return
    this.counts[job.state] += sign
    const key = this.key(job.key)
    const units = sign * job.cost
    if (inLine(job)) key.waiting += units
    if (job.state === 'returned') key.returned += units
    if (job.state === 'interrupted') key.interrupted += units
  }
}
