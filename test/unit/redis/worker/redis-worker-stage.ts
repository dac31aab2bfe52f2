import type { Handler } from '../../../../src/line/attempt.ts'
import { Emitter } from '../../../../src/line/emitter.ts'
import { RedisClock } from '../../../../src/redis/slots/redis-clock.ts'
import type { Delivery, ReceiveOptions } from '../../../../src/redis/transport/transport.ts'
import { RedisWorker } from '../../../../src/redis/worker/redis-worker.ts'
import { FakeStore } from '../slots/fake-store.ts'
import { StallingClock, settle } from '../slots/gate-stage.ts'

const EPOCH = 1_800_000_000_000_000
/** An hour ahead, so that one clock cannot be mistaken for the other. */
const AHEAD = 3_600_000_000
export const LEASE_MS = 9_000

/** A worker with a store and a transport of its own, on virtual time; every event in short. */
export class RedisWorkerStage {
  readonly clock = new StallingClock(EPOCH, settle)
  readonly store = new FakeStore(this.clock)
  readonly emitter = new Emitter<unknown>()
  readonly storeClock = new RedisClock({
    clock: this.clock,
    ping: () => this.store.time(),
    onJump: async () => undefined,
  })
  /** Every event: name, id, and when in milliseconds since the stage was built. */
  readonly emitted: (readonly [event: string, id: string, ms: number])[] = []
  readonly errors: { readonly code?: string; readonly message: string }[] = []
  /** Jobs that the transport may forget. */
  readonly forgotten: string[] = []
  readonly transport: string[] = []
  readonly worker: RedisWorker<unknown, unknown>
  isClosed = false
  /** Processor time of the process, in microseconds. */
  processorTime = 0
  #refusals: number
  #options: ReceiveOptions | undefined
  #underWay: Promise<void>[] = []

  /** @param refusals so often the transport cannot be opened */
  constructor(
    handler: Handler<unknown, unknown>,
    concurrency = 10,
    refusals = 0,
    startsAtEnd = false,
    prefetch = 1_000,
    maxTimeoutMs?: number,
  ) {
    this.#refusals = refusals
    this.store.offset = AHEAD
    this.storeClock.start()
    for (const name of ['departed', 'completed', 'failed', 'returned', 'expired'] as const) {
      this.emitter.on(name, ({ id, at }) => void this.emitted.push([name, id, this.#ms(at)]))
    }
    this.emitter.on('frozen', ({ key, at }) => void this.emitted.push(['frozen', key, this.#ms(at)]))
    this.emitter.on('error', (error) => void this.errors.push(error))
    this.worker = new RedisWorker(handler, {
      concurrency,
      name: 'stage',
      worker: 'w',
      backend: this.store,
      receive: (options) => this.#receive(options),
      clock: this.clock,
      storeClock: () => this.storeClock,
      emitter: this.emitter,
      lease: LEASE_MS * 1_000,
      processorTime: () => this.processorTime,
      prefetch,
      maxFreezeMs: 3_600_000,
      maxTimeoutMs,
      startsAtEnd,
      onClosed: () => {
        this.isClosed = true
      },
    })
  }

  async open(): Promise<this> {
    await this.pass(20)
    return this
  }

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms * 1_000)
  }

  deliver(jobs: readonly Delivery[]): void {
    for (const job of jobs) {
      const done = this.#options!.onDelivery(job).then(() => void this.forgotten.push(job.id))
      this.#underWay.push(done)
    }
  }

  /** A handler computes for so long. */
  compute(ms: number): void {
    this.clock.stall(ms * 1_000)
    this.processorTime += ms * 1_000
  }

  names(event: string): string[] {
    return this.emitted.filter(([name]) => name === event).map(([, id]) => id)
  }

  /** Closes it in `ms` of virtual time; nothing may be left. */
  async close(ms = 100, options?: { drainMs: number }): Promise<void> {
    const closed = this.worker.close(options)
    await this.pass(ms)
    await closed
    this.storeClock.stop()
  }

  #ms(at: number): number {
    return Math.round((at - (EPOCH + AHEAD) / 1_000) * 10) / 10
  }

  async #receive(options: ReceiveOptions) {
    if (this.#refusals-- > 0) throw new Error('no transport yet')
    this.#options = options
    this.transport.push('open')
    return {
      stop: async () => void this.transport.push('stop'),
      close: async () => {
        await Promise.all(this.#underWay)
        this.transport.push('close')
      },
    }
  }
}
