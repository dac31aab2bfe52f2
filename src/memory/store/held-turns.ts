import { DueHeap } from '../../core/due-heap.ts'
import { totalsAbove } from '../../core/total.ts'
import { DEFAULT_HOLD } from '../../line/turn.ts'
import type { Agenda } from './agenda.ts'
import type { JobRecord } from './job-record.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** How long a turn may hold its place and be settled. */
export function holdOf({ holdFor = DEFAULT_HOLD }: JobRecord): number {
  return holdFor
}

function countsPlaces({ limit, member }: MemoryBucket): boolean {
  if (limit.concurrency < Number.POSITIVE_INFINITY) return true
  if (member === undefined) return false
  return [...totalsAbove(member)].some(({ bucket }) => bucket.limit.concurrency < Number.POSITIVE_INFINITY)
}

/** Takes places in all totals above a bucket, or gives them back. */
export function takePlaces({ member }: MemoryBucket, count: number): void {
  if (member === undefined) return
  for (const total of totalsAbove(member)) total.running += count
}

/** The turns that have departed and hold a place of their bucket, by the time at which they lose it. */
export class HeldTurns {
  readonly #turns = new DueHeap<JobRecord>()
  readonly #agenda: Agenda

  constructor(agenda: Agenda) {
    this.#agenda = agenda
  }

  /** When the next turn loses its place. */
  get earliest(): number {
    return this.#turns.earliest
  }

  /** Lets a turn that departs now hold its place, where the limit counts places; returns whether it does. Call it before the turn ends. */
  hold(turn: JobRecord, now: number): boolean {
    const { bucket } = turn
    if (!countsPlaces(bucket)) return false
    bucket.held = (bucket.held ?? 0) + 1
    takePlaces(bucket, 1)
    this.#turns.set(turn, now + holdOf(turn))
    return true
  }

  /** Gives back the place of a turn, which is settled no more. Returns false where it holds none. */
  release(turn: JobRecord, now: number): boolean {
    if (turn.charge !== undefined) turn.charge.isOver = true
    for (const { charge } of turn.shared ?? []) if (charge !== undefined) charge.isOver = true
    if (turn.handle === -1) return false
    this.#turns.remove(turn)
    turn.bucket.held!--
    takePlaces(turn.bucket, -1)
    this.#agenda.rearm(turn.bucket, now)
    return true
  }

  /** Takes their places from the turns that have held them for too long, and returns those. */
  releaseOverdue(now: number): JobRecord[] {
    const overdue: JobRecord[] = []
    while (this.#turns.earliest <= now) {
      const turn = this.#turns.peek()!
      this.release(turn, now)
      overdue.push(turn)
    }
    return overdue
  }
}
