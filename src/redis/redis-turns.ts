import { Alarm } from '../core/alarm.ts'
import { MILLISECOND } from '../core/duration.ts'
import { isVelvetRopeError, ShaperClosedError } from '../core/errors.ts'
import { toError } from '../core/thrown.ts'
import type { Handler } from '../line/attempt.ts'
import type { JobRequest } from '../line/job.ts'
import { PendingTurns } from '../line/pending-turns.ts'
import type { ShapedJob } from '../line/shaped-job.ts'
import type { Turn } from '../line/turn.ts'
import { HeldPlaces } from './held-places.ts'
import { LeasedPlaces, type LeasedPlacesPorts } from './leased-places.ts'
import { TURN_LEASE } from './scripts/prelude.ts'
import type { Store } from './scripts/store.ts'
import { type Inboxes, makeCallerName, makeTurnId } from './transport/inboxes.ts'
import type { Delivery, ReceiveOptions, Receiver } from './transport/transport.ts'
import { TurnInbox } from './transport/turn-inbox.ts'
import { COARSE, TurnTimeouts } from './turn-timeouts.ts'
import type { NamedRequest } from './verbs/admit-calls.ts'
import type { RemovedJob } from './verbs/handed-job.ts'
import type { Verbs } from './verbs/verbs.ts'
import type { PlaceEnd } from './worker/place-end.ts'
import type { RedisWorker, WorkerSettings } from './worker/redis-worker.ts'
import { reportsSent } from './worker/worker-reports.ts'

/** Turns take no time, and so no handler. */
const MOST_TURNS = 100_000

export interface RedisTurnPorts extends LeasedPlacesPorts {
  /** The shaper's name. */
  readonly name: string
  readonly backend: {
    readonly store: Pick<Store, 'shards' | 'shardOf'>
    readonly verbs: Pick<Verbs, 'leave' | 'renew'>
    readonly inboxes: Pick<Inboxes, 'next'>
  }
  /** Opens the worker that takes turns through the gate. */
  readonly openWorker: (
    handler: Handler<unknown, PlaceEnd | undefined>,
    settings: WorkerSettings,
  ) => Pick<RedisWorker<unknown, unknown>, 'drop'>
  readonly onCancelled: (job: RemovedJob) => void
  readonly onError: (error: Error) => void
}

/** The turns for which callers of this process wait. */
export class RedisTurns {
  /** Names this process in the ids of its turns. */
  readonly caller = makeCallerName()
  readonly #ports: RedisTurnPorts
  readonly #pending = new PendingTurns()
  readonly #worker: Pick<RedisWorker<unknown, unknown>, 'drop'>
  /** Turns that the line has not answered and that have not come. */
  readonly #asked = new Set<string>()
  /** By id, the turns that were handed over and have not come. */
  readonly #handed = new Map<string, Delivery>()
  readonly #timeouts: TurnTimeouts
  /** Their places in line. */
  readonly #leased: LeasedPlaces
  /** The places of limits that they hold. */
  readonly #held: HeldPlaces
  /** Rings when no caller waits and nothing is held. */
  readonly #empty: Alarm
  #reported: Promise<void> | undefined

  constructor(ports: RedisTurnPorts) {
    this.#ports = ports
    const { clock } = ports
    this.#timeouts = new TurnTimeouts(clock, (id) => this.#expire(id))
    this.#leased = new LeasedPlaces(ports, this.#pending)
    this.#held = new HeldPlaces(clock, () => this.#noteEmpty())
    this.#empty = new Alarm(clock, COARSE)
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

  /** Resolves when the reports of all turns that came are sent: a request after that finds their places free. */
  get reported(): Promise<void> {
    return this.#reported ?? Promise.resolve()
  }

  /** Names the request so that its turn is handed over to this process. */
  named(request: JobRequest): NamedRequest {
    return { ...request, id: makeTurnId(this.caller) }
  }

  /**
   * Resolves when the turn has come. To be called before the line is asked, since the turn may come before the verdict is known.
   *
   * @throws (rejects) TurnTimeoutError, TurnCancelledError, ShaperClosedError, the signal's reason, or
   * BackendUnavailableError when the store was away for so long that the place may be lost
   */
  expect(request: NamedRequest, signal: AbortSignal | undefined): Promise<Turn> {
    const { id, deadline } = request
    this.#asked.add(id)
    if (deadline > 0) this.#timeouts.start(request)
    const onLeave = () => void this.leave(id)
    return this.#pending.wait(request, { signal, onLeave }).finally(() => {
      this.#timeouts.cancel(id)
      this.#leased.release(request)
      this.#handed.delete(id)
      this.#noteEmpty()
    })
  }

  /** Whether its caller still waits. */
  isExpected(id: string): boolean {
    return this.#pending.has(id)
  }

  /** Holds the place that the line has given to the request. */
  admitted(request: NamedRequest): void {
    // The turn came first.
    if (!this.#asked.delete(request.id)) return
    // The caller left before the place was known.
    if (!this.#pending.has(request.id)) {
      void this.leave(request.id)
      return
    }
    this.#leased.hold(request)
    // Also a caller that does not want to wait has to wait for the verdict.
    if (request.deadline === 0) this.#timeouts.start(request)
  }

  /** Notes that the line has refused the request. */
  refused(id: string): void {
    this.#asked.delete(id)
    this.#pending.refuse(id, undefined)
  }

  /** Fails the caller. Where the store was away, the request may have been admitted nevertheless. */
  failed(request: NamedRequest, error: unknown): void {
    this.#pending.refuse(request.id, error)
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
      // The connection itself has reported an outage.
      if (!isVelvetRopeError(error, 'backend-unavailable')) onError(toError(error))
      return false
    }
  }

  /** Takes on a turn that was handed over. False: no caller waits for it any more, and its place is given up. */
  takeOn(handed: Delivery): boolean {
    const isExpected = this.#pending.has(handed.id)
    if (isExpected) this.#handed.set(handed.id, handed)
    else void this.leave(handed.id)
    return isExpected
  }

  /**
   * The handler of turns: resolves the caller's promise. It ends when the caller has gone on, in this very tick; where the turn
   * holds a place of its limit, when it gives that back.
   */
  readonly depart = (job: ShapedJob<unknown>): Promise<PlaceEnd | undefined> => {
    const { id, holdsPlace } = job
    this.#asked.delete(id)
    const isExpected = this.#pending.has(id)
    const place = holdsPlace === undefined ? undefined : this.#held.depart(job, this.#pending.holdOf(id))
    this.#pending.depart(job, place)
    this.#noteReport()
    if (place === undefined || !holdsPlace)
      return new Promise((resolve) => process.nextTick(() => resolve(undefined)))
    if (!isExpected) void place.release()
    return place.end
  }

  #noteReport(): void {
    const reported = reportsSent()
    this.#reported = reported
    void reported.then(() => {
      if (this.#reported === reported) this.#reported = undefined
    })
  }

  /** Fails a caller whose deadline has passed, as the line said. */
  expired(id: string): void {
    this.#pending.expire(id)
  }

  /**
   * Lets turns come and be released for `drainMs`; then fails the callers that still wait with ShaperClosedError, and gives back
   * the places that others hold.
   */
  async close(drainMs = 0): Promise<void> {
    const { clock, name } = this.#ports
    if (drainMs > 0 && !this.#isEmpty) {
      // It has rung whenever no caller waited before.
      this.#empty.reset()
      await this.#empty.sleep(clock.now() + drainMs * MILLISECOND)
    }
    const ids = this.#pending.refuseAll(new ShaperClosedError(name))
    this.#held.releaseAll()
    await Promise.all(ids.map((id) => this.leave(id)))
  }

  get #isEmpty(): boolean {
    return this.#pending.size + this.#held.size === 0
  }

  #noteEmpty(): void {
    if (this.#isEmpty) this.#empty.ring()
  }

  #receive(options: ReceiveOptions): Receiver {
    const { backend } = this.#ports
    const onDelivery = async (handed: Delivery) => {
      if (this.takeOn(handed)) await options.onDelivery(handed)
    }
    const next = (shard: number, atMost: number) => backend.inboxes.next(shard, this.caller, atMost)
    return new TurnInbox(backend.store.shards, next, { ...options, onDelivery })
  }

  /** The line grants no turn after its deadline, but it may be away and cannot say so. */
  #expire(id: string): void {
    if (!this.#pending.has(id)) return
    void this.leave(id)
    this.#pending.expire(id)
  }
}
