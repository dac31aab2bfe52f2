import { expect } from 'vitest'
import type { Clock } from '../../../../src/core/clock.ts'
import { VirtualClock } from '../../../../src/core/virtual-clock.ts'
import { Leases } from '../../../../src/redis/slots/leases.ts'
import { RedisClock } from '../../../../src/redis/slots/redis-clock.ts'
import { RedisGate } from '../../../../src/redis/slots/redis-gate.ts'
import { ShardCalls } from '../../../../src/redis/slots/shard-calls.ts'
import type { Delivery } from '../../../../src/redis/transport/transport.ts'
import { FakeStore } from './fake-store.ts'

const LEASE = 10_000_000
export const EPOCH = 1_800_000_000_000_000

/** Promises and calls that go out at the end of a turn settle before time goes on. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => void setImmediate(resolve))
}

export interface Started {
  readonly id: string
  readonly key: string
  /** By the store's own clock, in microseconds since the stage was built. */
  readonly at: number
  readonly worker: number
}

/** A clock on which time can pass without waking a waiter. */
export class StallingClock extends VirtualClock implements Clock {
  #stalled = 0

  override now(): number {
    return super.now() + this.#stalled
  }

  override wake(at: number, callback: () => void): () => void {
    return super.wake(at - this.#stalled, callback)
  }

  override sleep(duration: number): Promise<void> {
    return new Promise((resolve) => void this.wake(this.now() + duration, resolve))
  }

  stall(duration: number): void {
    this.#stalled += duration
  }
}

/** One store, and gates of several workers, on virtual time. */
export class GateStage {
  readonly clock = new StallingClock(EPOCH, settle)
  readonly store = new FakeStore(this.clock)
  readonly gates: RedisGate[] = []
  readonly leases: Leases[] = []
  readonly clocks: RedisClock[] = []
  readonly starts: Started[] = []
  readonly expired: string[] = []
  /** Whose slot came when their process was not ready. */
  readonly missed: string[] = []
  readonly errors: Error[] = []
  readonly jumps: number[] = []
  /** Whether the store can make its buckets wait after a jump. */
  canQuarantine = true
  /** Jobs whose data make no sense. */
  readonly unreadable = new Set<string>()
  /** How long a handler runs. */
  runs = 0
  mostRunning = 0
  #running = 0

  async open(workers = 1, concurrency = 100, room = 1_000): Promise<this> {
    for (let worker = 0; worker < workers; worker++) this.#openWorker(worker, concurrency, room)
    await this.pass(50)
    return this
  }

  /** Goes on by milliseconds. */
  pass(ms: number): Promise<void> {
    return this.clock.advance(ms * 1_000)
  }

  /** The processes stand still for milliseconds: what was due meanwhile happens late, all of it together. */
  stall(ms: number): void {
    this.clock.stall(ms * 1_000)
  }

  /** Delivers jobs to a worker; returns a list that collects those that are done. */
  take(jobs: readonly Delivery[], worker = 0): string[] {
    const done: string[] = []
    for (const job of jobs) void this.gates[worker]!.take(job).then(() => done.push(job.id))
    return done
  }

  ids(): string[] {
    return this.starts.map(({ id }) => id)
  }

  /** In whole milliseconds, since the start of the first: which found its slot on the way here, so it was half a trip late. */
  gaps(): number[] {
    return this.starts.map(({ at }) => Math.ceil((at - this.starts[0]!.at) / 1_000))
  }

  stop(): void {
    for (const clock of this.clocks) clock.stop()
  }

  #openWorker(worker: number, concurrency: number, room: number): void {
    const { clock, store } = this
    const redisClock = new RedisClock({
      clock,
      ping: () => store.time(),
      onJump: async (by) => {
        if (!this.canQuarantine) throw new Error('not now')
        this.jumps.push(by)
      },
    })
    const leases = new Leases({
      backend: store,
      clock,
      lease: LEASE,
      onLost: (job) => this.gates[worker]!.drop(job),
    })
    const onError = (error: Error) => void this.errors.push(error)
    const storeClock = () => redisClock
    const calls = new ShardCalls({
      backend: store,
      clock,
      storeClock,
      worker: `w${worker}`,
      lease: LEASE,
      onError,
    })
    const gate: RedisGate = new RedisGate({
      clock,
      storeClock,
      leases,
      worker: `w${worker}`,
      calls,
      concurrency,
      room,
      onError,
      lease: LEASE,
      onFollowing: () => undefined,
      onExpired: ({ id }) => void this.expired.push(id),
      onMissed: ({ id }) => void this.missed.push(id),
      prepare: ({ job: { id, key } }, handed, window) => {
        if (this.unreadable.has(id)) throw new Error(`cannot read ${id}`)
        return () => {
          const startsAt = window.look()
          if (startsAt === undefined) return undefined
          const startedAt = window.startedBy(0, 0)
          this.starts.push({ id, key, worker, at: store.now() - EPOCH })
          this.mostRunning = Math.max(this.mostRunning, ++this.#running)
          const { epoch, shard } = handed
          const told = calls.start(shard, { id, epoch, startedAt })
          void told.then((answer) => answer === 'stop' && gate.stopRun(key)).catch(() => undefined)
          return this.#run(gate, key, () => calls.finish(shard, { id, epoch, startedAt, outcome: DONE }))
        }
      },
    })
    redisClock.start()
    this.clocks.push(redisClock)
    this.leases.push(leases)
    this.gates.push(gate)
  }

  async #run(gate: RedisGate, key: string, finish: () => Promise<unknown>): Promise<void> {
    if (this.runs > 0) await this.clock.sleep(this.runs)
    this.#running--
    gate.release(key)
    await finish().catch(() => undefined)
  }
}

const DONE = { kind: 'completed', result: undefined } as const

/** Nobody is left, and nothing is kept. */
export function expectEmpty(stage: GateStage): void {
  for (const gate of stage.gates) expect([gate.waiting, gate.buckets]).toEqual([0, 0])
  for (const leases of stage.leases) expect(leases.size).toBe(0)
  expect(stage.errors).toEqual([])
  stage.stop()
}
