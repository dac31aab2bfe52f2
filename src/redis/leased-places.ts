import type { Clock } from '../core/clock.ts'
import { SECOND } from '../core/duration.ts'
import type { JobView } from '../core/job.ts'
import { TurnCancelledError } from '../core/turn-errors.ts'
import type { PendingTurns } from '../line/pending-turns.ts'
import { TURN_LEASE } from './scripts/prelude.ts'
import type { Store } from './scripts/store.ts'
import { Leases } from './slots/leases.ts'
import type { Delivery } from './transport/transport.ts'
import type { NamedRequest } from './verbs/admit-calls.ts'
import type { Verbs } from './verbs/verbs.ts'

/** A caller gets an error after a longer outage: a place that is lost starts nothing twice. */
const PATIENCE = 60 * SECOND
/** The states of a turn that still has its place. */
const KEPT = ['waiting', 'handed', 'retrying']
const COME = ['running', 'completed']

export interface LeasedPlacesPorts {
  readonly backend: {
    readonly store: Pick<Store, 'shardOf'>
    readonly verbs: Pick<Verbs, 'renew'>
  }
  /** Reads a job, also while the line is not fit for new ones. */
  readonly job: (id: string) => Promise<JobView | undefined>
  readonly clock: Clock
}

type Callers = Pick<PendingTurns, 'has' | 'expire' | 'refuse'>

/**
 * The places in line of the turns of this process. A lease holds each from the admission until the turn has come: when the
 * process dies, the line gives the places to those behind.
 */
export class LeasedPlaces {
  readonly #ports: LeasedPlacesPorts
  readonly #pending: Callers
  readonly #leases: Leases

  constructor(ports: LeasedPlacesPorts, pending: Callers) {
    this.#ports = ports
    this.#pending = pending
    this.#leases = new Leases({
      backend: ports.backend.verbs,
      clock: ports.clock,
      lease: TURN_LEASE,
      patience: PATIENCE,
      onLost: (place) => void this.#failLost(place),
    })
  }

  hold(request: NamedRequest): void {
    this.#leases.hold(this.#placeOf(request))
  }

  release(request: NamedRequest): void {
    this.#leases.release(this.#placeOf(request))
  }

  #placeOf({ id, key }: NamedRequest): Delivery {
    return { id, key, epoch: 0, shard: this.#ports.backend.store.shardOf(key) }
  }

  /** Fails a caller whose place is lost with the reason: its deadline has passed, or it was cancelled. */
  async #failLost(place: Delivery): Promise<void> {
    const { id } = place
    try {
      const state = (await this.#ports.job(id))?.state ?? 'unknown'
      if (!this.#pending.has(id)) return
      // The line was away for long, and still has the place.
      if (KEPT.includes(state)) this.#leases.hold(place)
      else if (state === 'expired') this.#pending.expire(id)
      // A turn that has come reaches its caller in another way.
      else if (!COME.includes(state)) this.#pending.refuse(id, new TurnCancelledError(id))
    } catch (error) {
      this.#pending.refuse(id, error)
    }
  }
}
