import { MILLISECOND } from '../core/duration.ts'
import { isVelvetRopeError } from '../core/errors.ts'
import { type Admission, type Rejected, retryAfterMs } from '../core/job.ts'
import { TurnTimeoutError } from '../core/turn-errors.ts'
import type { Costs } from '../core/usage.ts'
import type { Awaitable } from './awaitable.ts'
import type { JobRequest } from './job.ts'
import type { ShapedJob } from './shaped-job.ts'
import { DepartedTurn, type Turn, type TurnPorts } from './turn.ts'

interface PlaceOptions {
  readonly signal: AbortSignal | undefined
  /** Called when the caller gives up its place. */
  readonly onLeave: () => void
}

type NamedRequest = Pick<JobRequest, 'key' | 'deadline' | 'holdFor'> & { readonly id: string }

interface PendingTurn {
  readonly request: NamedRequest
  resolve(turn: Turn): void
  reject(reason: unknown): void
}

/** The turns that callers of this process wait for, by the ids under which they stand in their lines. */
export class PendingTurns {
  readonly #turns = new Map<string, PendingTurn>()
  readonly #signals = new SharedSignals()

  get size(): number {
    return this.#turns.size
  }

  /** Resolves when the turn departs. */
  wait(request: NamedRequest, { signal, onLeave }: PlaceOptions): Promise<Turn> {
    const { id } = request
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.refuse(id, signal!.reason)
        onLeave()
      }
      const settle = () => {
        this.#turns.delete(id)
        if (signal !== undefined) this.#signals.unsubscribe(signal, onAbort)
      }
      this.#turns.set(id, {
        request,
        resolve: (turn) => {
          settle()
          resolve(turn)
        },
        reject: (reason) => {
          settle()
          reject(reason)
        },
      })
      if (signal !== undefined) this.#signals.subscribe(signal, onAbort)
      // It may have been aborted while the line was asked.
      if (signal?.aborted) onAbort()
    })
  }

  has(id: string): boolean {
    return this.#turns.has(id)
  }

  /** For how long the turn may hold its place, where its request says so; microseconds. */
  holdOf(id: string): number | undefined {
    return this.#turns.get(id)?.request.holdFor
  }

  /** Resolves the turn. `ports`: where its limit has something to settle or to release. */
  depart(job: ShapedJob<unknown>, ports?: TurnPorts): void {
    this.#turns.get(job.id)?.resolve(new DepartedTurn(job, ports))
  }

  /** Rejects the turn, because its timeout came first. */
  expire(id: string): void {
    const turn = this.#turns.get(id)
    turn?.reject(new TurnTimeoutError(turn.request.key, turn.request.deadline / MILLISECOND))
  }

  /** Rejects the turn, because its place is gone. */
  refuse(id: string, reason: unknown): void {
    this.#turns.get(id)?.reject(reason)
  }

  /** Rejects all turns; returns their ids. */
  refuseAll(reason: unknown): string[] {
    const ids = [...this.#turns.keys()]
    for (const id of ids) this.refuse(id, reason)
    return ids
  }
}

interface Subscription {
  readonly waiting: Set<() => void>
  readonly onAbort: () => void
}

/** Adds one listener to each signal, however many turns wait for it: Node warns of more than ten as a likely leak. */
class SharedSignals {
  readonly #subscriptions = new Map<AbortSignal, Subscription>()

  subscribe(signal: AbortSignal, onAbort: () => void): void {
    const known = this.#subscriptions.get(signal)
    if (known !== undefined) {
      known.waiting.add(onAbort)
      return
    }
    const waiting = new Set([onAbort])
    // Do not rely on the target of the event: Node 20 leaves it out once a request has the signal, too.
    const subscription = {
      waiting,
      onAbort: () => {
        for (const notify of [...waiting]) notify()
      },
    }
    this.#subscriptions.set(signal, subscription)
    signal.addEventListener('abort', subscription.onAbort)
  }

  unsubscribe(signal: AbortSignal, onAbort: () => void): void {
    const subscription = this.#subscriptions.get(signal)
    subscription?.waiting.delete(onAbort)
    if (subscription === undefined || subscription.waiting.size > 0) return
    this.#subscriptions.delete(signal)
    signal.removeEventListener('abort', subscription.onAbort)
  }
}

/**
 * Turns the timeout of a turn that was wanted at once into a refusal: it was promised, and did not come.
 *
 * @throws `error`, when it is any other error
 */
export async function refuseLateTurn(
  { key, cost, costs }: JobRequest,
  error: unknown,
  forecast: (key: string, cost: number, costs?: Costs) => Awaitable<Admission>,
): Promise<Rejected> {
  if (!isVelvetRopeError(error, 'turn-timeout')) throw error
  const now = await forecast(key, cost, costs)
  if (!now.accepted) return now
  const { waitMs, waiting, capacity, isEstimate } = now
  const wait = retryAfterMs(waitMs * MILLISECOND)
  const known = { reason: 'deadline', key, retryAfterMs: wait, waiting: waiting - cost, capacity } as const
  return { accepted: false, ...known, ...(isEstimate && { isEstimate }) }
}
