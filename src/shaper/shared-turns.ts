import type { JobRequest } from '../backend/backend.ts'
import type { SharedBackend, SharedJob } from '../backend/shared-backend.ts'
import { makeCallerName, makeTurnId } from '../backend/turn-id.ts'
import type { Clock } from '../core/clock.ts'
import { MILLISECOND, SECOND } from '../core/duration.ts'
import { isVelvetRopeError, ShaperClosedError, toError } from '../core/errors.ts'
import { TurnCancelledError } from '../core/turn-errors.ts'
import type { HandedOver } from '../gate/handed-over.ts'
import { Leases } from '../gate/leases.ts'
import type { ShapedJob } from './shaped-job.ts'
import { type Turn, TurnDesk } from './turn-desk.ts'

/** For so long a process that says nothing keeps the places of its callers, and the turns that were handed to it. */
export const TURN_LEASE = 5 * SECOND
/** In which one that must come at once reaches its caller: the line gives it so long, and a while to tell of it. */
const TRAVEL = 100 * MILLISECOND
const GRACE = 100 * MILLISECOND
const COARSE = Number.POSITIVE_INFINITY

type NamedRequest = JobRequest & { readonly id: string }

export interface SharedTurnPorts {
  /** The shaper's name. */
  readonly name: string
  readonly backend: Pick<SharedBackend, 'leave' | 'job' | 'renew' | 'shardOf'>
  readonly clock: Clock
  /** A job that was handed over to this process must not start any more. */
  readonly drop: (handed: HandedOver) => void
  readonly onCancelled: (job: SharedJob) => void
  readonly onError: (error: Error) => void
}

/**
 * The callers of this process who stand in shared lines. Each place is held by a lease from before its admission until
 * the turn has come: when the process dies, the line gives the places to those behind.
 */
export class SharedTurns {
  /** Names this process in the ids of its turns. */
  readonly caller = makeCallerName()
  readonly #ports: SharedTurnPorts
  readonly #desk = new TurnDesk()
  readonly #leases: Leases
  /** By id, those that were handed over and have not departed. */
  readonly #handed = new Map<string, HandedOver>()
  #onEmpty: (() => void) | undefined

  constructor(ports: SharedTurnPorts) {
    this.#ports = ports
    const { backend, clock } = ports
    this.#leases = new Leases({ backend, clock, lease: TURN_LEASE, onLost: ({ id }) => this.#explain(id) })
  }

  /** A name for the request, by which its turn finds the way to this process. */
  named(request: JobRequest): NamedRequest {
    return { ...request, id: makeTurnId(this.caller) }
  }

  /**
   * Whoever may be admitted must be expected before: his turn may come before the verdict is known.
   *
   * @throws (rejects) TurnTimeoutError, TurnCancelledError, ShaperClosedError or the signal's reason
   */
  expect(request: NamedRequest, signal: AbortSignal | undefined): Promise<Turn> {
    const { backend, clock } = this.#ports
    const { id, key, deadline } = request
    const place = { id, key, epoch: 0, shard: backend.shardOf(key) }
    this.#leases.hold(place)
    const disarm =
      deadline === Number.POSITIVE_INFINITY
        ? undefined
        : clock.wake(clock.now() + Math.max(deadline, TRAVEL) + GRACE, () => void this.#expire(id), COARSE)
    const turn = this.#desk.wait(request, { signal, onLeave: () => void this.leave(id) })
    return turn.finally(() => {
      disarm?.()
      this.#leases.release(place)
      this.#handed.delete(id)
      if (this.#desk.size === 0) this.#onEmpty?.()
    })
  }

  /** Whether he still waits. */
  isExpected(id: string): boolean {
    return this.#desk.has(id)
  }

  /** He was not admitted, or nobody knows. */
  dismiss(id: string, reason: unknown): void {
    this.#desk.refuse(id, reason)
  }

  /** Takes the place out of the line, also when a slot was granted to it. Never rejects: the lease ends by itself. */
  async leave(id: string): Promise<boolean> {
    const { backend, drop, onCancelled, onError } = this.#ports
    const handed = this.#handed.get(id)
    if (handed !== undefined) drop(handed)
    try {
      const job = await backend.leave(id)
      if (job !== undefined) onCancelled(job)
      return job !== undefined
    } catch (error) {
      onError(toError(error))
      return false
    }
  }

  /** A turn was handed over to this process. */
  noteHanded(handed: HandedOver): void {
    if (this.#desk.has(handed.id)) this.#handed.set(handed.id, handed)
  }

  /** The handler of turns: their callers depart. */
  readonly depart = (job: ShapedJob<unknown>): void => {
    this.#desk.depart(job)
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

  async #expire(id: string): Promise<void> {
    if (!this.#desk.has(id)) return
    if (await this.leave(id)) this.#desk.expire(id)
    else await this.#explain(id)
  }

  /** The line does not keep his place any more: because his time is over, or because somebody took him out. */
  async #explain(id: string): Promise<void> {
    const state = await this.#stateOf(id)
    // His turn comes: this process knows of it, or will be told.
    if (state === 'running' || state === 'completed') return
    if (state === 'expired') this.#desk.expire(id)
    else this.#desk.refuse(id, new TurnCancelledError(id))
  }

  async #stateOf(id: string) {
    try {
      return (await this.#ports.backend.job(id))?.state
    } catch (error) {
      if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
      return undefined
    }
  }
}
