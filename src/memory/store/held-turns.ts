import { DueHeap } from '../../core/due-heap.ts'
import { MINUTE } from '../../core/duration.ts'
import type { JobRecord } from './job-record.ts'

/** For a turn that was admitted under a limit without places. */
const DEFAULT_HOLD = 10 * MINUTE

/** How long a turn may hold its place and be settled. */
export function holdOf({ holdFor = DEFAULT_HOLD }: JobRecord): number {
  return holdFor
}

/** The turns that have departed and hold a place of their bucket, by the time at which they lose it. */
export class HeldTurns {
  readonly #turns = new DueHeap<JobRecord>()

  /** When the next turn loses its place. */
  get earliest(): number {
    return this.#turns.earliest
  }

  hold(turn: JobRecord, now: number): void {
    const { bucket } = turn
    bucket.held = (bucket.held ?? 0) + 1
    this.#turns.set(turn, now + holdOf(turn))
  }

  /** Returns false when it holds no place. */
  release(turn: JobRecord): boolean {
    if (turn.handle === -1) return false
    this.#turns.remove(turn)
    turn.bucket.held!--
    return true
  }

  /** A turn that has held its place for too long. */
  overdue(now: number): JobRecord | undefined {
    return this.#turns.earliest <= now ? this.#turns.peek() : undefined
  }
}
