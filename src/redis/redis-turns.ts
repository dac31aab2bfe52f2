import type { Clock } from '../core/clock.ts'
import { MILLISECOND, SECOND } from '../core/duration.ts'
import { isVelvetRopeError, ShaperClosedError } from '../core/errors.ts'
import { toError } from '../core/thrown.ts'
import { TurnCancelledError } from '../core/turn-errors.ts'
import type { Handler } from '../line/attempt.ts'
import type { JobRequest } from '../line/job.ts'
import { PendingTurns, type Turn } from '../line/pending-turns.ts'
import type { ShapedJob } from '../line/shaped-job.ts'
import type { RedisBackend } from './redis-backend.ts'
import type { Store } from './scripts/store.ts'
import { Leases } from './slots/leases.ts'
import { type Inboxes, makeCallerName, makeTurnId } from './transport/inboxes.ts'
import type { Delivery, ReceiveOptions, Receiver } from './transport/transport.ts'
import { TurnInbox } from './transport/turn-inbox.ts'
import type { NamedRequest } from './verbs/admit.ts'
import type { SharedJob } from './verbs/handed-job.ts'
import type { Verbs } from './verbs/verbs.ts'
import type { RedisWorker, WorkerSettings } from './worker/redis-worker.ts'

/** For so long a process that says nothing keeps the places of its callers, and the turns that were handed to it. */
const TURN_LEASE = 5 * SECOND
/** A caller is told of an outage that lasts longer: a place that is lost starts nothing twice. */
const PATIENCE = 60 * SECOND
/** In which one that must come at once reaches its caller: the line gives it so long, and a while to tell of it. */
const TRAVEL = 100 * MILLISECOND
const GRACE = 100 * MILLISECOND
/** States of one who has his place still. */
const KEPT = ['waiting', 'handed', 'retrying']
/** Turns take no time, and so no handler. */
const MOST_TURNS = 100_000
const COARSE = Number.POSITIVE_INFINITY

export interface RedisTurnPorts {
  /** The shaper's name. */
  readonly name: string
  readonly backend: Pick<RedisBackend, 'job'> & {
    readonly store: Pick<Store, 'shards' | 'shardOf'>
    readonly verbs: Pick<Verbs, 'leave' | 'renew'>
    readonly inboxes: Pick<Inboxes, 'next'>
  }
  readonly clock: Clock
  /** Opens the worker that takes turns through the gate. */
  readonly openWorker: (
    handler: Handler<unknown, void>,
    settings: WorkerSettings,
  ) => Pick<RedisWorker<unknown, unknown>, 'drop'>
  readonly onCancelled: (job: SharedJob) => void
  readonly onError: (error: Error) => void
}

/**
 * The callers of this process who stand in shared lines. Each place is held by a lease from its admission until the
 * turn has come: when the process dies, the line gives the places to those behind.
 */
export class RedisTurns {
  /** Names this process in the ids of its turns. */
  readonly caller = makeCallerName()
  readonly #ports: RedisTurnPorts
  readonly #desk = new PendingTurns()
  readonly #leases: Leases
  readonly #worker: Pick<RedisWorker<unknown, unknown>, 'drop'>
  /** Whom the line has not answered, and who have not departed. */
  readonly #asked = new Set<string>()
  /** By id, those that were handed over and have not departed. */
  readonly #handed = new Map<string, Delivery>()
  /** By id, how the timeouts of those who wait are called off. */
  readonly #timeouts = new Map<string, () => void>()
  #onEmpty: (() => void) | undefined
  #reported: Promise<void> | undefined

  constructor(ports: RedisTurnPorts) {
    this.#ports = ports
    const { backend, clock } = ports
    this.#leases = new Leases({
      backend: backend.verbs,
      clock,
      lease: TURN_LEASE,
      patience: PATIENCE,
      onLost: (place) => void this.#explain(place),
    })
    this.#worker = ports.openWorker(this.depart, {
      concurrency: MOST_TURNS,
      lease: TURN_LEASE,
      prefetch: MOST_TURNS,
      // A turn ends at its departure, and freezes nothing.
      maxFreezeMs: 0,
      startsAtEnd: true,
      receive: async (options) => this.#receive(options),
      onExpired: ({ id }) => this.expired(id),
    })
  }

  /** Resolves when the store was sent word of all who departed: whoever asks then finds their places free. */
  get reported(): Promise<void> {
    return this.#reported ?? Promise.resolve()
  }

  /** A name for the request, by which its turn finds the way to this process. */
  named(request: JobRequest): NamedRequest {
    return { ...request, id: makeTurnId(this.caller) }
  }

  /**
   * Whoever may be admitted must be expected before: his turn may come before the verdict is known.
   *
   * @throws (rejects) TurnTimeoutError, TurnCancelledError, ShaperClosedError, the signal's reason, or
   * BackendUnavailableError when the store was away for so long that nobody knows of the place
   */
  expect(request: NamedRequest, signal: AbortSignal | undefined): Promise<Turn> {
    const { id, deadline } = request
    this.#asked.add(id)
    if (deadline > 0) this.#setTimeout(request)
    const turn = this.#desk.wait(request, { signal, onLeave: () => void this.leave(id) })
    return turn.finally(() => {
      this.#timeouts.get(id)?.()
      this.#timeouts.delete(id)
      this.#leases.release(this.#placeOf(request))
      this.#handed.delete(id)
      if (this.#desk.size === 0) this.#onEmpty?.()
    })
  }

  /** Whether he still waits. */
  isExpected(id: string): boolean {
    return this.#desk.has(id)
  }

  /** The line has given him a place, and keeps it from now on as long as this process says so. */
  admitted(request: NamedRequest): void {
    // His turn came first.
    if (!this.#asked.delete(request.id)) return
    // Before his place was known it could not be given up.
    if (!this.#desk.has(request.id)) {
      void this.leave(request.id)
      return
    }
    this.#leases.hold(this.#placeOf(request))
    // Who would not wait has to wait for the verdict all the same.
    if (request.deadline === 0) this.#setTimeout(request)
  }

  /** The line has refused him. */
  refused(id: string): void {
    this.#asked.delete(id)
    this.#desk.refuse(id, undefined)
  }

  /** He was not admitted; or, if the store is away, nobody knows. */
  failed(request: NamedRequest, error: unknown): void {
    this.#desk.refuse(request.id, error)
    if (isVelvetRopeError(error, 'backend-unavailable')) this.admitted(request)
    else this.#asked.delete(request.id)
  }

  /** Takes the place out of the line, also when a slot was granted to it. Never rejects: the lease ends by itself. */
  async leave(id: string): Promise<boolean> {
    const { backend, onCancelled, onError } = this.#ports
    const handed = this.#handed.get(id)
    if (handed !== undefined) this.#worker.drop(handed)
    try {
      const job = await backend.verbs.leave(id)
      if (job !== undefined) onCancelled(job)
      return job !== undefined
    } catch (error) {
      // An outage was told by the connection itself.
      if (!isVelvetRopeError(error, 'backend-unavailable')) onError(toError(error))
      return false
    }
  }

  /** A turn was handed over to this process; false when nobody waits for it any more, and its place is given up. */
  noteHanded(handed: Delivery): boolean {
    const isExpected = this.#desk.has(handed.id)
    if (isExpected) this.#handed.set(handed.id, handed)
    else void this.leave(handed.id)
    return isExpected
  }

  /** The handler of turns: their callers depart. It ends when they have gone on, which they do in this very tick. */
  readonly depart = (job: ShapedJob<unknown>): Promise<void> => {
    this.#asked.delete(job.id)
    this.#desk.depart(job)
    const reported = endOfTurn()
    this.#reported = reported
    void reported.then(() => {
      if (this.#reported === reported) this.#reported = undefined
    })
    return new Promise((resolve) => process.nextTick(resolve))
  }

  /** The line says that the time is over. */
  expired(id: string): void {
    this.#desk.expire(id)
  }

  /** Lets turns come for `drainMs`, and tells those who wait then that the shaper is closed. */
  async close(drainMs = 0): Promise<void> {
    const { clock, name } = this.#ports
    if (drainMs > 0 && this.#desk.size > 0) {
      await new Promise<void>((resolve) => {
        const disarm = clock.wake(clock.now() + drainMs * MILLISECOND, resolve, COARSE)
        this.#onEmpty = () => {
          disarm()
          resolve()
        }
      })
    }
    const ids = this.#desk.refuseAll(new ShaperClosedError(name))
    await Promise.all(ids.map((id) => this.leave(id)))
  }

  #receive(options: ReceiveOptions): Receiver {
    const { backend } = this.#ports
    const onDelivery = async (handed: Delivery) => {
      if (this.noteHanded(handed)) await options.onDelivery(handed)
    }
    const next = (shard: number, atMost: number) => backend.inboxes.next(shard, this.caller, atMost)
    return new TurnInbox(backend.store.shards, next, { ...options, onDelivery })
  }

  #placeOf({ id, key }: NamedRequest): Delivery {
    return { id, key, epoch: 0, shard: this.#ports.backend.store.shardOf(key) }
  }

  #setTimeout({ id, deadline }: NamedRequest): void {
    const { clock } = this.#ports
    if (deadline === Number.POSITIVE_INFINITY) return
    const at = clock.now() + Math.max(deadline, TRAVEL) + GRACE
    this.#timeouts.set(
      id,
      clock.wake(at, () => this.#expire(id), COARSE),
    )
  }

  /** The line lets nobody depart whose time is over, but it may be away, and cannot say so. */
  #expire(id: string): void {
    if (!this.#desk.has(id)) return
    void this.leave(id)
    this.#desk.expire(id)
  }

  /** The line does not keep his place any more: because his time is over, or because somebody took him out. */
  async #explain(place: Delivery): Promise<void> {
    const { id } = place
    try {
      const state = (await this.#ports.backend.job(id))?.state ?? 'unknown'
      if (!this.#desk.has(id)) return
      // It was away for long, and knows him still.
      if (KEPT.includes(state)) this.#leases.hold(place)
      else if (state === 'expired') this.#desk.expire(id)
      // When his turn comes, this process knows of it, or will be told.
      else if (state !== 'running' && state !== 'completed') this.#desk.refuse(id, new TurnCancelledError(id))
    } catch (error) {
      this.#desk.refuse(id, error)
    }
  }
}

/** When the worker has sent what it gathers once they have gone on: it does so at the end of this turn of the event loop. */
async function endOfTurn(): Promise<void> {
  for (let tick = 0; tick < 2; tick++) await new Promise<void>((resolve) => process.nextTick(resolve))
  await new Promise<void>((resolve) => void setImmediate(resolve))
}
