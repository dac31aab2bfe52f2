import { MILLISECOND } from '../core/duration.ts'
import { isVelvetRopeError } from '../core/errors.ts'
import { type Admission, type Rejected, retryAfterMs } from '../core/job.ts'
import { TurnTimeoutError } from '../core/turn-errors.ts'
import type { Awaitable } from './awaitable.ts'
import type { JobRequest } from './job.ts'

/** A caller's turn: he departed. */
export interface Turn {
  readonly accepted: true
  readonly key: string
  readonly cost: number
  /** Milliseconds since the epoch, by the clock of the line. */
  readonly departedAt: number
  readonly waitedMs: number
  /** Grows with every departure of the key: a receiver may refuse one smaller than it has seen of that key. */
  readonly fence: number
}

export interface Place {
  readonly signal: AbortSignal | undefined
  /** He wants his place no more. */
  readonly onLeave: () => void
}

type NamedRequest = Pick<JobRequest, 'key' | 'deadline'> & { readonly id: string }

type Departed = Omit<Turn, 'accepted'> & { readonly id: string }

interface Caller {
  readonly request: NamedRequest
  resolve(turn: Turn): void
  reject(reason: unknown): void
}

/** The callers in this process who wait for their turns, by the ids under which they stand in their lines. */
export class PendingTurns {
  readonly #callers = new Map<string, Caller>()
  readonly #signals = new SharedSignals()

  get size(): number {
    return this.#callers.size
  }

  /** Resolves when the caller's turn has come. */
  wait(request: NamedRequest, { signal, onLeave }: Place): Promise<Turn> {
    const { id } = request
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.refuse(id, signal!.reason)
        onLeave()
      }
      const settle = () => {
        this.#callers.delete(id)
        if (signal !== undefined) this.#signals.unsubscribe(signal, onAbort)
      }
      this.#callers.set(id, {
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
      // While the line was asked, nobody listened.
      if (signal?.aborted) onAbort()
    })
  }

  has(id: string): boolean {
    return this.#callers.has(id)
  }

  /** His turn has come. */
  depart({ id, key, cost, departedAt, waitedMs, fence }: Departed): void {
    this.#callers.get(id)?.resolve({ accepted: true, key, cost, departedAt, waitedMs, fence })
  }

  /** His timeout has come first. */
  expire(id: string): void {
    const caller = this.#callers.get(id)
    caller?.reject(new TurnTimeoutError(caller.request.key, caller.request.deadline / MILLISECOND))
  }

  /** He has no place in the line any more. */
  refuse(id: string, reason: unknown): void {
    this.#callers.get(id)?.reject(reason)
  }

  /** The same for all; answers their ids. */
  refuseAll(reason: unknown): string[] {
    const ids = [...this.#callers.keys()]
    for (const id of ids) this.refuse(id, reason)
    return ids
  }
}

interface Heard {
  readonly waiting: Set<() => void>
  readonly onAbort: () => void
}

/** One listener for each signal, however many wait for it: Node warns of more than ten, which are usually forgotten. */
class SharedSignals {
  readonly #heard = new Map<AbortSignal, Heard>()

  subscribe(signal: AbortSignal, onAbort: () => void): void {
    const known = this.#heard.get(signal)
    if (known !== undefined) {
      known.waiting.add(onAbort)
      return
    }
    const waiting = new Set([onAbort])
    // What the event says of its target is not to be relied on: Node 20 leaves it out once a request has the signal, too.
    const heard = {
      waiting,
      onAbort: () => {
        for (const tell of [...waiting]) tell()
      },
    }
    this.#heard.set(signal, heard)
    signal.addEventListener('abort', heard.onAbort)
  }

  unsubscribe(signal: AbortSignal, onAbort: () => void): void {
    const heard = this.#heard.get(signal)
    heard?.waiting.delete(onAbort)
    if (heard === undefined || heard.waiting.size > 0) return
    this.#heard.delete(signal)
    signal.removeEventListener('abort', heard.onAbort)
  }
}

/**
 * Whoever wanted a turn at once, and was promised it, is refused if it did not come.
 *
 * @throws `error`, when it says something else
 */
export async function refuseLateTurn(
  { key, cost }: JobRequest,
  error: unknown,
  forecast: (key: string, cost: number) => Awaitable<Admission>,
): Promise<Rejected> {
  if (!isVelvetRopeError(error, 'turn-timeout')) throw error
  const now = await forecast(key, cost)
  if (!now.accepted) return now
  const { waitMs, waiting, capacity } = now
  const wait = retryAfterMs(waitMs * MILLISECOND)
  return { accepted: false, reason: 'deadline', key, retryAfterMs: wait, waiting: waiting - cost, capacity }
}
