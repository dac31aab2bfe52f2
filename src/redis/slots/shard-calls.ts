import type { Clock } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import { isVelvetRopeError } from '../../core/errors.ts'
import { toError } from '../../core/thrown.ts'
import { NOT_AFTER } from '../scripts/store.ts'
import type { FetchAnswer } from '../verbs/fetch.ts'
import type { FinishAnswer, FinishReport } from '../verbs/finish.ts'
import { type FollowAnswer, type FollowRequest, MOST_FOLLOWED } from '../verbs/follow.ts'
import type { GateAnswer, GateRequest } from '../verbs/gate.ts'
import type { HandedJob } from '../verbs/handed-job.ts'
import type { StartAnswer, StartReport } from '../verbs/start.ts'
import type { Verbs } from '../verbs/verbs.ts'
import { Batch } from './batch.ts'
import type { RedisClock } from './redis-clock.ts'

/** Of the gate and of reports: their answers and questions carry data. */
const MOST_BATCHED = 50

export interface ShardCallsPorts {
  readonly backend: Pick<Verbs, 'fetch' | 'gate' | 'follow' | 'start' | 'finish'>
  readonly clock: Clock
  /** The clock of the store that keeps the shard. */
  readonly storeClock: (shard: number) => RedisClock
  /** Names the worker. */
  readonly worker: string
  readonly lease: number
  /** Gets every failure, but an outage only once: all calls fail with it. */
  readonly onError: (error: Error) => void
}

/** An answer of the gate, and the local times at which it was asked for and came. */
export interface TimedAnswer {
  readonly answer: GateAnswer
  readonly sentAt: number
  readonly receivedAt: number
}

/** What a job that asks for its slot says of itself. */
export interface Asking {
  /** The slot that was granted before and missed. */
  readonly missed?: number | undefined
  /** Its slot shall be so much later than now; microseconds, 0 by default. */
  readonly lead?: number
  /** Its data were fetched. */
  readonly hasData?: boolean
}

type Ask = HandedJob & Asking
type Fetch = HandedJob & { readonly bytes: number }

interface Batches {
  readonly follows: Batch<FollowRequest, FollowAnswer>
  readonly starts: Batch<StartReport, StartAnswer>
  readonly finishes: Batch<FinishReport, FinishAnswer>
  readonly fetches: Batch<Fetch, FetchAnswer>
  readonly gates: Batch<Ask, TimedAnswer>
}

/**
 * The calls of a worker's jobs to the store, gathered into one call for each verb and shard. They go out at the end of the turn
 * of the event loop: a handler that ends at once needs only the report of its end, which carries the start. What follows a job is
 * asked for before its start is reported: until then no other worker gets a job of its bucket. Starts go before the gate, so that the
 * next job of a bucket finds the one before it started.
 */
export class ShardCalls {
  readonly #ports: ShardCallsPorts
  readonly #unsent = new Map<number, Batches>()
  #isDown = false

  constructor(ports: ShardCallsPorts) {
    this.#ports = ports
  }

  gate(shard: number, { id, epoch }: HandedJob, asking: Asking): Promise<TimedAnswer> {
    return this.#batches(shard).gates.add({ id, epoch, ...asking })
  }

  /** @param job.bytes as the gate answered */
  fetch(shard: number, job: Fetch): Promise<FetchAnswer> {
    return this.#batches(shard).fetches.add(job)
  }

  /** The next jobs of a bucket, of which this worker has one whose start it has not reported yet. */
  follow(shard: number, asked: FollowRequest): Promise<FollowAnswer> {
    return this.#batches(shard).follows.add(asked)
  }

  start(shard: number, report: StartReport): Promise<StartAnswer> {
    return this.#batches(shard).starts.add(report)
  }

  finish(shard: number, report: FinishReport): Promise<FinishAnswer> {
    const { starts, finishes } = this.#batches(shard)
    if (report.startedAt !== undefined) {
      starts.answer(({ id, epoch }) => id === report.id && epoch === report.epoch, 'started')
    }
    return finishes.add(report)
  }

  #batches(shard: number): Batches {
    let batches = this.#unsent.get(shard)
    if (batches === undefined) {
      batches = {
        follows: new Batch(),
        starts: new Batch(),
        finishes: new Batch(),
        fetches: new Batch(),
        gates: new Batch(),
      }
      if (this.#unsent.size === 0) setImmediate(this.#flush)
      this.#unsent.set(shard, batches)
    }
    return batches
  }

  readonly #flush = () => {
    const { backend } = this.#ports
    const unsent = [...this.#unsent]
    this.#unsent.clear()
    for (const [shard, { follows, starts, finishes, fetches, gates }] of unsent) {
      follows.flush({ most: MOST_FOLLOWED }, (asked) => this.#watch(this.#callFollow(shard, asked)))
      starts.flush({ most: MOST_BATCHED }, (reports) => this.#watch(backend.start(shard, reports)))
      finishes.flush({ most: MOST_BATCHED, bytesOf: bytesOfReport }, (reports) =>
        this.#watch(backend.finish(shard, reports)),
      )
      gates.flush({ most: MOST_BATCHED }, (asks) => this.#watch(this.#callGate(shard, asks)))
      fetches.flush({ most: MOST_BATCHED, bytesOf: ({ bytes }) => bytes }, (jobs) =>
        this.#watch(backend.fetch(shard, jobs)),
      )
    }
  }

  async #callGate(shard: number, asks: readonly Ask[]): Promise<TimedAnswer[]> {
    const { backend, clock, storeClock, worker, lease } = this.#ports
    const store = storeClock(shard)
    const error = errorOf(store)
    const requests = asks.map(({ id, epoch, missed, lead = 0, hasData = false }): GateRequest => {
      const request = { id, epoch, worker, lead, lease, hasData, error }
      return missed === undefined ? request : { ...request, missed }
    })
    const sentAt = clock.now()
    const { now, answers } = await backend.gate(shard, requests)
    const receivedAt = clock.now()
    store.observe({ sentAt, receivedAt, storeTime: now })
    return answers.map((answer) => ({ answer, sentAt, receivedAt }))
  }

  async #callFollow(
    shard: number,
    asked: readonly FollowRequest[],
  ): Promise<readonly (FollowAnswer | undefined)[]> {
    const { backend, clock, storeClock, worker, lease } = this.#ports
    const store = storeClock(shard)
    const sentAt = clock.now()
    const follower = { worker, lease, error: errorOf(store) }
    const inTime = store.isSound ? { notAfter: store.now() + NOT_AFTER } : {}
    const { now, answers } = await backend.follow(shard, { ...follower, ...inTime }, asked)
    store.observe({ sentAt, receivedAt: clock.now(), storeTime: now })
    return answers
  }

  async #watch<Answer>(call: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await call
      this.#isDown = false
      return answer
    } catch (thrown) {
      const error = toError(thrown)
      const isOutage = isVelvetRopeError(error, 'backend-unavailable')
      if (!isOutage || !this.#isDown) this.#ports.onError(error)
      this.#isDown = isOutage
      throw error
    }
  }
}

function errorOf({ error: { ahead, behind } }: RedisClock): number {
  return Math.min(ahead + behind, SECOND)
}

function bytesOfReport({ outcome }: FinishReport): number {
  if (outcome.kind === 'completed') return outcome.result?.length ?? 0
  return outcome.kind === 'failed' || outcome.kind === 'retry' ? outcome.error.length : 0
}
