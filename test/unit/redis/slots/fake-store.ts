import { BackendUnavailableError } from '../../../../src/core/errors.ts'
import type { VirtualClock } from '../../../../src/core/virtual-clock.ts'
import type { WorkerJob } from '../../../../src/line/job.ts'
import type { Store } from '../../../../src/redis/scripts/store.ts'
import type { Delivery } from '../../../../src/redis/transport/transport.ts'
import type { FetchAnswer } from '../../../../src/redis/verbs/fetch.ts'
import type { FinishAnswer, FinishReport } from '../../../../src/redis/verbs/finish.ts'
import type {
  FollowAnswer,
  Follower,
  FollowReply,
  FollowRequest,
} from '../../../../src/redis/verbs/follow.ts'
import type { GateAnswer, GateReply, GateRequest } from '../../../../src/redis/verbs/gate.ts'
import type { HandedJob } from '../../../../src/redis/verbs/handed-job.ts'
import type { SettleRequest } from '../../../../src/redis/verbs/settle.ts'
import type { StartAnswer, StartReport } from '../../../../src/redis/verbs/start.ts'
import type { Verbs } from '../../../../src/redis/verbs/verbs.ts'

const TOO_FAR = 250_000
const TIMEOUT = 1_500_000
/** Of a job that follows the one before it. */
const NO_SLOT = -1
/** A job that starts later than that after its slot has missed it. */
const LATEST_START = 20_000

interface FakeJob {
  readonly key: string
  readonly data: string
  epoch: number
  state: 'waiting' | 'handed' | 'granted' | 'running' | 'ended'
  slot: number
  /** Of a job that follows the one before it: the slot that it was to have. */
  expected: number
  worker: string
  lease: number
  settings: WorkerJob['settings']
  crashes: number
  attempt: number
  /** To the last report of its end: the same again is answered again. */
  answer?: FinishAnswer & { readonly kind: string }
  expired?: GateAnswer & { readonly kind: 'expired' }
}

interface FakeBucket {
  interval: number
  tolerance: number
  next: number
  frozenUntil: number
  readonly handed: string[]
  /** Jobs that wait behind those. */
  readonly line: string[]
  granted: string | undefined
}

/** The verbs of a worker over lines in memory, with round trips, outages, lost replies and a clock that can be moved. */
export class FakeStore
  implements
    Pick<Verbs, 'fetch' | 'gate' | 'follow' | 'start' | 'finish' | 'renew' | 'settle'>,
    Pick<Store, 'time'>
{
  readonly clock: VirtualClock
  readonly jobs = new Map<string, FakeJob>()
  readonly buckets = new Map<string, FakeBucket>()
  readonly calls: string[] = []
  readonly finished: [id: string, report: FinishReport][] = []
  readonly started: [id: string, at: number][] = []
  /** Jobs that were expired by the gate. */
  readonly expiring = new Set<string>()
  readonly settled: SettleRequest[] = []
  /** Ahead of the process's clock by so much, and faster by that share. */
  offset = 0
  drift = 0
  /** How long the next call takes there and back. */
  trip: () => readonly [there: number, back: number] = () => [500, 500]
  /** A job that is not the first has to ask again after so long. */
  askAgainAfter = 5_000
  /** By so much slots are granted later than they should have been. */
  missesBy = 0
  /** The runs of all buckets are to stop. */
  stopsRuns = false
  /** Data of more characters do not come with a slot. */
  large = Number.POSITIVE_INFINITY
  isDown = false
  /** The store runs the verb, and its reply is lost. */
  losesReplies = false

  #epoch = 2

  constructor(clock: VirtualClock) {
    this.clock = clock
  }

  async settle(request: SettleRequest): Promise<boolean> {
    this.settled.push(request)
    return true
  }

  now(): number {
    return this.clock.now() * (1 + this.drift) + this.offset
  }

  bucket(key: string, interval = 100_000, tolerance = 5_000): FakeBucket {
    let bucket = this.buckets.get(key)
    if (bucket === undefined) {
      bucket = { interval, tolerance, next: 0, frozenUntil: 0, handed: [], line: [], granted: undefined }
      this.buckets.set(key, bucket)
    }
    return bucket
  }

  /** Hands over jobs named `<key>1` and so on, in this order. */
  hand(
    key: string,
    count = 1,
    part: Partial<Pick<FakeJob, 'data' | 'settings' | 'crashes'>> = {},
  ): Delivery[] {
    const bucket = this.bucket(key)
    return Array.from({ length: count }, () => {
      const id = `${key}${[...this.jobs.values()].filter((job) => job.key === key).length + 1}`
      this.jobs.set(id, {
        key,
        data: '1',
        settings: { attempts: 1, backoff: BACKOFF, timeoutMs: 60_000 },
        crashes: 0,
        ...part,
        epoch: 1,
        state: 'handed',
        slot: 0,
        expected: 0,
        worker: '',
        lease: Number.POSITIVE_INFINITY,
        attempt: 0,
      })
      bucket.handed.push(id)
      return { id, epoch: 1, key, shard: 0 }
    })
  }

  /** Leaves jobs of a fast bucket in its line, for the worker that has the first: named as those of `hand`. */
  lineUp(key: string, count: number, part: Parameters<FakeStore['hand']>[2] = {}): void {
    const { handed, line } = this.bucket(key)
    for (const { id } of this.hand(key, count, part)) {
      this.jobs.get(id)!.state = 'waiting'
      line.push(id)
    }
    handed.splice(handed.length - count)
  }

  /** The lease of a job ends and another worker has it. */
  take(id: string): void {
    const job = this.jobs.get(id)!
    job.epoch++
    this.#leave(job, id)
    job.state = 'waiting'
  }

  time(): Promise<number> {
    return this.#call('time', () => this.now())
  }

  gate(_shard: number, requests: readonly GateRequest[]): Promise<GateReply> {
    return this.#call(`gate ${requests.map(({ id }) => id).join(' ')}`, () => ({
      now: this.now(),
      answers: requests.map((request) => this.#gate(request)),
    }))
  }

  fetch(_shard: number, jobs: readonly HandedJob[]): Promise<FetchAnswer[]> {
    return this.#call(`fetch ${jobs.map(({ id }) => id).join(' ')}`, () =>
      jobs.map((handed) => {
        const job = this.#mine(handed)
        return job === undefined ? { kind: 'stale' } : { kind: 'yes', data: job.data }
      }),
    )
  }

  follow(_shard: number, from: Follower, requests: readonly FollowRequest[]): Promise<FollowReply> {
    return this.#call(`follow ${requests.map(({ key, most }) => `${key} ${most}`).join(' ')}`, () => ({
      now: this.now(),
      answers: requests.map((request) => this.#following(from, request)),
    }))
  }

  #following({ worker, lease, error }: Follower, { key, known, most }: FollowRequest): FollowAnswer {
    const { interval, tolerance, handed, line, frozenUntil, next } = this.buckets.get(key)!
    // The slot that a job gets where all before it start in time. Another one has the first.
    const ahead = () => handed.filter((id) => this.jobs.get(id)!.slot === NO_SLOT).length
    const isOwn = handed.every((id) => this.jobs.get(id)!.worker === worker)
    const isKnown = handed.every((id) => this.jobs.get(id)!.epoch <= known)
    for (let left = isOwn && isKnown && frozenUntil <= this.now() ? most : 0; left > 0; left--) {
      const expected = Math.max(this.now(), next + ahead() * interval)
      const id = expected <= this.now() + TOO_FAR ? line.shift() : undefined
      if (id === undefined) break
      const job = this.jobs.get(id)!
      const epoch = this.#epoch++
      Object.assign(job, {
        state: 'granted',
        slot: NO_SLOT,
        expected,
        worker,
        lease: this.now() + lease,
        epoch,
        attempt: 1,
      })
      handed.push(id)
    }
    const own = handed.filter(
      (id) => this.jobs.get(id)!.worker === worker && this.jobs.get(id)!.epoch > known,
    )
    const jobs = own.map((id) => ({
      handed: { id, epoch: this.jobs.get(id)!.epoch },
      earliest: 0,
      latest: this.jobs.get(id)!.expected + TOO_FAR + error,
      job: this.#jobOf(id),
    }))
    return { interval, tolerance, pattern: '*', jobs }
  }

  start(_shard: number, starts: readonly StartReport[]): Promise<StartAnswer[]> {
    return this.#call(`start ${starts.map(({ id }) => id).join(' ')}`, () =>
      starts.map((report) => this.#answered(report)),
    )
  }

  finish(_shard: number, reports: readonly FinishReport[]): Promise<FinishAnswer[]> {
    return this.#call(`finish ${reports.map(({ id }) => id).join(' ')}`, () =>
      reports.map((report) => this.#finish(report)),
    )
  }

  renew(_shard: number, jobs: readonly HandedJob[], lease: number): Promise<boolean[]> {
    return this.#call(`renew ${jobs.map(({ id }) => id).join(' ')}`, () =>
      jobs.map((handed) => {
        const job = this.#mine(handed)
        if (job === undefined || job.state === 'waiting' || job.state === 'ended') return false
        job.lease = this.now() + lease
        return true
      }),
    )
  }

  async #call<Answer>(name: string, run: () => Answer): Promise<Answer> {
    this.calls.push(name)
    const [there, back] = this.trip()
    if (this.isDown) {
      await this.clock.sleep(TIMEOUT)
      throw new BackendUnavailableError('the store is away')
    }
    await this.clock.sleep(there)
    const answer = run()
    if (this.losesReplies) {
      await this.clock.sleep(TIMEOUT)
      throw new BackendUnavailableError('the reply was lost')
    }
    await this.clock.sleep(back)
    return answer
  }

  #mine({ id, epoch }: HandedJob): FakeJob | undefined {
    const job = this.jobs.get(id)
    return job?.epoch === epoch ? job : undefined
  }

  #gate(request: GateRequest): GateAnswer {
    const { id, worker, lead, lease, missed, hasData, error = 0 } = request
    const job = this.#mine(request)
    // The answer may have been lost: it is given again.
    if (job?.expired !== undefined && job.worker === worker) return job.expired
    const isGranted = job?.state === 'granted' && job.worker === worker
    if (job === undefined || (job.state !== 'handed' && !isGranted)) return { kind: 'stale' }
    const bucket = this.buckets.get(job.key)!
    const now = this.now()
    if (bucket.handed[0] !== id || (bucket.granted ?? id) !== id)
      return { kind: 'wait', until: now + this.askAgainAfter }
    if (job.data.length > this.large && !hasData) return { kind: 'data', bytes: job.data.length }
    if (this.expiring.has(id)) {
      this.#leave(job, id)
      const expired = { kind: 'expired', job: { id, key: job.key, cost: 1, attempt: 0, at: now } } as const
      Object.assign(job, { state: 'ended', worker, expired })
      return expired
    }
    if (isGranted && missed === job.slot && bucket.next === job.slot + bucket.interval) bucket.next = job.slot
    if (!isGranted || missed === job.slot || job.slot === NO_SLOT) {
      const slot = Math.max(now + lead, bucket.next, bucket.frozenUntil)
      if (slot > now + TOO_FAR) {
        this.#leave(job, id)
        job.state = 'waiting'
        return { kind: 'returned' }
      }
      if (!isGranted) job.attempt++
      Object.assign(job, { state: 'granted', slot, worker, lease: now + lease })
      bucket.granted = id
      bucket.next = slot + bucket.interval
    }
    const { slot } = job
    return {
      kind: 'granted',
      slot,
      due: slot - this.missesBy,
      startAt: Math.max(slot, now),
      latest: Math.max(slot, now) + LATEST_START + 2 * error,
      tolerance: bucket.tolerance,
      frozenUntil: bucket.frozenUntil > now ? bucket.frozenUntil : undefined,
      runInterval: bucket.interval > 25_000 ? 0 : bucket.interval,
      mayRun: bucket.line.length > 0,
      pace: { pattern: '*', lastStart: Number.NEGATIVE_INFINITY, spacing: 0 },
      job: { ...this.#jobOf(id), ...(hasData && { data: '' }) },
    }
  }

  #jobOf(id: string): WorkerJob {
    const { key, data, settings, attempt, crashes } = this.jobs.get(id)!
    return { id, key, data, cost: 1, settings, attempt, fence: 1, crashes, admittedAt: 0 }
  }

  #answered(report: StartReport): StartAnswer {
    if (!this.#start(report, report.startedAt)) return 'lost'
    return this.stopsRuns ? 'stop' : 'started'
  }

  #start(handed: HandedJob, startedAt: number): boolean {
    const job = this.#mine(handed)
    if (job === undefined || (job.state !== 'granted' && job.state !== 'running')) return false
    if (job.state === 'granted') {
      this.started.push([handed.id, startedAt])
      const bucket = this.buckets.get(job.key)!
      const tolerated = bucket.tolerance - Math.min(500, bucket.tolerance / 4)
      if (job.slot === NO_SLOT) {
        job.slot = bucket.next
        bucket.next += bucket.interval
      }
      if (startedAt - job.slot > tolerated) bucket.next = startedAt + bucket.interval
      this.#leave(job, handed.id)
      job.state = 'running'
    }
    return true
  }

  #finish(report: FinishReport): FinishAnswer {
    const job = this.#mine(report)
    if (report.outcome.kind !== 'back' && job?.answer?.kind === report.outcome.kind) return job.answer
    const answer = this.#finishOnce(report)
    if (job !== undefined && answer.isMine) job.answer = { ...answer, kind: report.outcome.kind }
    return answer
  }

  #finishOnce(report: FinishReport): FinishAnswer {
    const { id, outcome, startedAt } = report
    const at = this.now()
    const job = this.#mine(report)
    if (job === undefined) return { isMine: false, at }
    if (outcome.kind === 'back') {
      if (job.state !== 'handed' && job.state !== 'granted') return { isMine: false, at }
      if (job.state === 'granted' && job.worker !== outcome.worker) return { isMine: false, at }
      this.#leave(job, id)
      job.state = 'waiting'
      this.finished.push([id, report])
      return { isMine: true, at }
    }
    if (startedAt !== undefined) this.#start(report, startedAt)
    if (job.state !== 'running') return { isMine: false, at }
    this.finished.push([id, report])
    if (outcome.kind === 'completed' || outcome.kind === 'failed') {
      job.state = 'ended'
      return { isMine: true, at }
    }
    job.state = 'waiting'
    return { isMine: true, at, readyAt: at + (outcome.kind === 'retry' ? outcome.delay : outcome.duration) }
  }

  #leave(job: FakeJob, id: string): void {
    const bucket = this.buckets.get(job.key)!
    const index = bucket.handed.indexOf(id)
    if (index !== -1) bucket.handed.splice(index, 1)
    if (bucket.granted === id) bucket.granted = undefined
  }
}

const BACKOFF = { type: 'fixed', delayMs: 1_000, maxDelayMs: 1_000, jitter: 0 } as const
