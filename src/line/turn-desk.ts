import { MILLISECOND } from '../core/duration.ts'
import { TurnTimeoutError } from '../core/turn-errors.ts'
import type { JobRequest } from './backend.ts'
import { SharedSignals } from './shared-signals.ts'

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
export class TurnDesk {
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
        if (signal !== undefined) this.#signals.forget(signal, onAbort)
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
      if (signal !== undefined) this.#signals.heed(signal, onAbort)
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
