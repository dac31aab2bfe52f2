import { expect } from 'vitest'
import { BackendUnavailableError, ForeignValueError } from '../../../src/core/errors.ts'
import type { JobState, JobView } from '../../../src/core/job.ts'
import { VirtualClock } from '../../../src/core/virtual-clock.ts'
import type { JobRequest, WorkerJob } from '../../../src/line/job.ts'
import { ShapedJob } from '../../../src/line/shaped-job.ts'
import { type RedisTurnPorts, RedisTurns } from '../../../src/redis/redis-turns.ts'
import type { Delivery } from '../../../src/redis/transport/transport.ts'
import type { NamedRequest } from '../../../src/redis/verbs/admit-calls.ts'
import type { HandedJob, RemovedJob } from '../../../src/redis/verbs/handed-job.ts'
import { settle } from './slots/gate-stage.ts'

const MS = 1_000
/** How long a call fails that is not answered. */
const TIMEOUT_MS = 1_900
const SETTINGS = {
  attempts: 1,
  backoff: { type: 'fixed', delayMs: 1, maxDelayMs: 1, jitter: 0 },
  timeoutMs: 60_000,
} as const

/** Knows how many wait to be woken. */
class CountingClock extends VirtualClock {
  armed = 0

  override wake(at: number, callback: () => void): () => void {
    let isArmed = true
    const disarm = () => {
      if (isArmed) this.armed--
      isArmed = false
    }
    this.armed++
    const cancel = super.wake(at, () => {
      disarm()
      callback()
    })
    return () => {
      disarm()
      cancel()
    }
  }
}

/** What a store knows of places, as far as their callers can see. */
class FakePlaces {
  readonly backend: RedisTurnPorts['backend'] = {
    store: { shards: 1, shardOf: (key) => key.length },
    verbs: { leave: (id) => this.leave(id), renew: (shard, jobs) => this.renew(shard, jobs) },
    // What a test hands over does not come through an inbox.
    inboxes: { next: async () => [] },
  }
  readonly states = new Map<string, JobState>()
  readonly calls: string[] = []
  isDown = false
  isForeign = false
  readonly #clock: VirtualClock

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  leave(id: string): Promise<RemovedJob | undefined> {
    return this.#call(`leave ${id}`, () => {
      const state = this.states.get(id)
      if (state !== 'waiting' && state !== 'handed') return undefined
      this.states.set(id, 'cancelled')
      return { id, key: 'k', cost: 1, attempt: 0, at: this.#clock.now() }
    })
  }

  job(id: string): Promise<JobView | undefined> {
    return this.#call(`job ${id}`, () => {
      const state = this.states.get(id)
      return state === undefined ? undefined : view(id, state)
    })
  }

  renew(shard: number, jobs: readonly HandedJob[]): Promise<boolean[]> {
    const names = jobs.map(({ id, epoch }) => `${id}:${epoch}`)
    return this.#call(`renew ${shard} ${names.join(' ')}`, () =>
      jobs.map(({ id }) => ['waiting', 'handed', 'running'].includes(this.states.get(id) ?? '')),
    )
  }

  async #call<Answer>(name: string, run: () => Answer): Promise<Answer> {
    this.calls.push(name)
    if (this.isDown) {
      await this.#clock.sleep(TIMEOUT_MS * MS)
      throw new BackendUnavailableError('the store is away')
    }
    if (this.isForeign) throw new ForeignValueError('not ours')
    return run()
  }
}

/** What became of a caller. */
export interface Outcome {
  readonly value?: unknown
  readonly error?: unknown
}

/** The callers of one process, and a store that does what a test says. Times are milliseconds. */
export class RedisTurnsStage {
  readonly clock = new CountingClock(0, settle)
  readonly store = new FakePlaces(this.clock)
  readonly dropped: Delivery[] = []
  readonly cancelled: string[] = []
  readonly errors: Error[] = []
  readonly turns = new RedisTurns({
    name: 'stage',
    backend: this.store.backend,
    job: (id) => this.store.job(id),
    clock: this.clock,
    openWorker: () => ({ drop: (handed) => void this.dropped.push(handed) }),
    onCancelled: ({ id }) => void this.cancelled.push(id),
    onError: (error) => void this.errors.push(error),
  })
  readonly outcomes = new Map<string, Outcome>()

  get now(): number {
    return this.clock.now() / MS
  }

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms * MS)
  }

  /** Asks for a turn; the line has not answered. */
  ask(part: Partial<JobRequest> = {}, signal?: AbortSignal): NamedRequest {
    const request = this.turns.named({
      id: undefined,
      key: 'k',
      data: 'null',
      cost: 1,
      deadline: Number.POSITIVE_INFINITY,
      settings: SETTINGS,
      isTurn: true,
      ...part,
    })
    this.turns.expect(request, signal).then(
      (value) => this.outcomes.set(request.id, { value }),
      (error: unknown) => this.outcomes.set(request.id, { error }),
    )
    return request
  }

  /** A caller that has a place. */
  admit(part: Partial<JobRequest> = {}, signal?: AbortSignal): NamedRequest {
    const request = this.ask(part, signal)
    this.store.states.set(request.id, 'waiting')
    this.turns.admitted(request)
    return request
  }

  hand({ id, key }: NamedRequest, epoch = 1): Delivery {
    this.store.states.set(id, 'handed')
    const handed = { id, key, epoch, shard: key.length }
    this.turns.takeOn(handed)
    return handed
  }

  /** The gate lets the caller through; the store hears of it later. */
  depart({ id, key, cost }: NamedRequest): void {
    const job: WorkerJob = {
      id,
      key,
      data: 'null',
      cost,
      settings: SETTINGS,
      attempt: 1,
      fence: 7,
      crashes: 0,
      admittedAt: 0,
    }
    this.turns.depart(new ShapedJob(job, null, this.clock.now()))
  }

  called(verb: string): string[] {
    return this.store.calls.filter((call) => call.startsWith(verb))
  }
}

function view(id: string, state: JobState): JobView {
  return {
    id,
    key: 'k',
    state,
    cost: 1,
    data: null,
    attempt: 0,
    attempts: 1,
    admittedAt: 0,
  }
}

/** No turn is pending, nothing is held, and no error was emitted. */
export async function expectOver(stage: RedisTurnsStage): Promise<void> {
  const renewals = stage.called('renew').length
  await stage.pass(0)
  expect(stage.clock.armed).toBe(0)
  await stage.pass(600_000)
  expect(stage.called('renew')).toHaveLength(renewals)
  expect(stage.errors).toEqual([])
}
