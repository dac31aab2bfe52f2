import type { VirtualClock } from '../../../../src/core/virtual-clock.ts'
import type { RedisSchedulerOptions } from '../../../../src/redis/scheduler/redis-scheduler.ts'
import type { Delivery } from '../../../../src/redis/transport/transport.ts'
import type { Claim, ClaimRequest } from '../../../../src/redis/verbs/claim.ts'
import type { HandedJob, RemovedJob } from '../../../../src/redis/verbs/handed-job.ts'
import type { RecoverRequest, Recovery } from '../../../../src/redis/verbs/recover.ts'
import type { Verbs } from '../../../../src/redis/verbs/verbs.ts'

interface Waiting {
  readonly id: string
  /** When it may be claimed. */
  readonly due: number
  readonly epoch: number
}

const LEADER_LEASE = 1_500_000

/** One shard of a shared store: jobs that may be claimed from a time on, leases, one leader, and one marker. */
export class FakeStore implements Pick<Verbs, 'claim' | 'recover' | 'expire' | 'resign'> {
  readonly claims: (ClaimRequest & { readonly at: number })[] = []
  waiting: Waiting[] = []
  readonly leases = new Map<string, { readonly job: HandedJob; readonly end: number }>()
  deadlines: RemovedJob[] = []
  leader: string | undefined
  leaderUntil = Number.NEGATIVE_INFINITY
  /** Whether others may be elected while nothing is due. */
  keepsLeader = true
  /** When something is to be forgotten next. */
  forgetsAt = Number.POSITIVE_INFINITY
  isAway = false
  isDeaf = false
  /** How far its clock was set forward. */
  step = 0
  /** Markers that are lost on their way to the waiting schedulers. */
  losesMarkers = false
  sleepers = 0
  /** The schedulers that wait for a vacancy, the names of those that resigned while elected, and of those that were not. */
  heirs = 0
  readonly resigned: string[] = []
  readonly left: string[] = []
  /** Runs in the middle of the next claim: after it was decided, before it is answered. */
  meanwhile: (() => void | Promise<void>) | undefined
  readonly wakes: RedisSchedulerOptions['wakes'] = {
    next: (_shard, marker, atMost) =>
      marker === 'wake' ? this.#awaitWake(atMost) : this.#awaitVacancy(atMost),
    end: async () => {
      this.#isEnded = true
    },
  }
  readonly #clock: VirtualClock
  /** Its last wait was ended, so that it takes no marker with it. */
  #isEnded = false
  #marker = false
  #listeners: (() => void)[] = []
  #heirs: (() => void)[] = []

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  admit(id: string, due = this.#clock.now()): void {
    this.waiting.push({ id, due, epoch: 0 })
    this.wake()
  }

  wake(): void {
    if (this.losesMarkers) return
    const listener = this.#listeners.shift()
    if (listener === undefined) this.#marker = true
    else listener()
  }

  async claim(_shard: number, request: ClaimRequest): Promise<Claim> {
    if (this.isAway) throw new Error('the store is away')
    const now = this.#clock.now()
    this.claims.push({ ...request, at: now })
    const isElected = this.leader === request.scheduler || this.leaderUntil <= now
    const jobs: (HandedJob & { key: string })[] = []
    if (isElected) {
      this.leader = request.scheduler
      this.leaderUntil = now + LEADER_LEASE
      const due = this.waiting.filter((job) => job.due <= now).slice(0, request.most)
      this.waiting = this.waiting.filter((job) => !due.includes(job))
      for (const { id, epoch } of due) {
        const job = { id, epoch: epoch + 1, key: 'k' }
        jobs.push(job)
        this.leases.set(id, { job, end: now + request.lease })
      }
    }
    const answer = {
      isElected,
      leaderUntil: this.leaderUntil,
      jobs,
      now: now + this.step,
      nextClaim: Math.min(...this.waiting.map((job) => job.due)),
      nextForgetting: this.forgetsAt,
      nextRecovery: Math.min(...[...this.leases.values()].map(({ end }) => end)),
      nextExpiry: isElected ? Math.min(...this.deadlines.map((job) => job.at)) : Number.POSITIVE_INFINITY,
    }
    const { meanwhile } = this
    this.meanwhile = undefined
    await meanwhile?.()
    return answer
  }

  async recover(
    _shard: number,
    { until = Number.POSITIVE_INFINITY }: RecoverRequest = {},
  ): Promise<Recovery> {
    const now = this.#clock.now() + this.step
    const lost = [...this.leases.values()].filter(({ end }) => end <= Math.min(now, until))
    const jobs = lost.map(({ job }) => {
      this.leases.delete(job.id)
      this.waiting.unshift({ id: job.id, due: now, epoch: job.epoch })
      return {
        ...job,
        key: 'k',
        cost: 1,
        attempt: 1,
        at: now,
        crashed: false,
        failed: false,
        gone: false,
        lapsed: false,
      }
    })
    return { jobs, isMore: false }
  }

  async expire(): Promise<RemovedJob[]> {
    const now = this.#clock.now()
    const expired = this.deadlines.filter((job) => job.at <= now)
    this.deadlines = this.deadlines.filter((job) => job.at > now)
    return expired
  }

  async resign(_shard: number, scheduler: string): Promise<void> {
    if (!this.#isEnded) throw new Error('it may still take a marker')
    this.#isEnded = false
    if (this.isAway) throw new Error('the store is away')
    if (this.leader !== scheduler) {
      this.left.push(scheduler)
      return
    }
    this.resigned.push(scheduler)
    this.leader = undefined
    this.leaderUntil = Number.NEGATIVE_INFINITY
    this.wake()
    this.#heirs.shift()?.()
  }

  #awaitVacancy(atMost: number): Promise<void> {
    if (this.isAway || this.isDeaf) return Promise.reject(new Error('no process listens'))
    this.heirs++
    return new Promise((resolve) => {
      const heir = () => {
        this.heirs--
        this.#heirs = this.#heirs.filter((other) => other !== heir)
        disarm()
        resolve()
      }
      const disarm = this.#clock.wake(this.#clock.now() + atMost, heir)
      this.#heirs.push(heir)
    })
  }

  #awaitWake(atMost: number): Promise<void> {
    if (this.isAway || this.isDeaf) return Promise.reject(new Error('no process listens'))
    if (this.#marker) {
      this.#marker = false
      return Promise.resolve()
    }
    this.sleepers++
    return new Promise((resolve) => {
      const listener = () => {
        this.sleepers--
        this.#listeners = this.#listeners.filter((other) => other !== listener)
        disarm()
        resolve()
      }
      const disarm = this.#clock.wake(this.#clock.now() + atMost, listener)
      this.#listeners.push(listener)
    })
  }
}

/** Keeps what was handed over until a worker fetches it. */
export class FakeTransport {
  readonly handed: (Delivery & { readonly at: number })[] = []
  readonly queued = new Set<string>()
  /** How long handing over takes. */
  takes = 0
  isAway = false
  asked = 0
  readonly #clock: VirtualClock

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  async hand(_shard: number, jobs: readonly Delivery[]): Promise<void> {
    if (this.isAway) throw new Error('the transport is away')
    if (this.takes > 0) await this.#clock.sleep(this.takes)
    for (const job of jobs) {
      this.handed.push({ ...job, at: this.#clock.now() })
      this.queued.add(`${job.id}_e${job.epoch}`)
    }
  }

  async take(_shard: number, jobs: readonly HandedJob[]): Promise<void> {
    for (const { id, epoch } of jobs) this.queued.delete(`${id}_e${epoch}`)
  }

  async unfetched(): Promise<number> {
    this.asked++
    return this.queued.size
  }
}
