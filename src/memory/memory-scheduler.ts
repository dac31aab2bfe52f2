import type { Clock } from '../core/clock.ts'
import { handoffs, leaderships, schedulerPasses } from '../core/diagnostics.ts'
import { MILLISECOND } from '../core/duration.ts'
import type { MemoryHandoff } from './memory-handoff.ts'
import type { JobRecord } from './store/job-record.ts'
import type { MemoryStore } from './store/memory-store.ts'

/** What one pass did. */
export interface Pass {
  readonly handed: number
  readonly expired: number
  readonly forgotten: number
}

export interface SchedulerPorts {
  /** The shaper's name. */
  readonly name: string
  onExpired(job: JobRecord, now: number): void
  /** A turn has held its place for too long, and lost it. */
  onHoldExpired(turn: JobRecord, now: number): void
}

/** A pass ends after so many departures, so that timers, I/O and the promises of handlers get their turn. */
const LONGEST_PASS = 256

/** A chore may be a few milliseconds late, unless a departure is due as soon. */
const LATENESS_OF_CHORES = 10 * MILLISECOND
const CHORE_SLACK = Number.POSITIVE_INFINITY

/**
 * Hands over the head of each line when its slot has come and a handler is free, or none is needed. Between passes it
 * sleeps until the next event is due: one timer, whatever the number of buckets.
 */
export class MemoryScheduler {
  readonly #store: MemoryStore
  readonly #handoff: MemoryHandoff
  readonly #clock: Clock
  readonly #ports: SchedulerPorts
  #armedFor = Number.POSITIVE_INFINITY
  #disarm: (() => void) | undefined
  #isPassing = false
  #isStopped = false

  constructor(store: MemoryStore, handoff: MemoryHandoff, clock: Clock, ports: SchedulerPorts) {
    this.#store = store
    this.#handoff = handoff
    this.#clock = clock
    this.#ports = ports
  }

  /** Does everything that is due now. Does nothing inside a pass, as when a handler calls back into the shaper. */
  runOnce(): Pass {
    const pass = { handed: 0, expired: 0, forgotten: 0 }
    if (this.#isPassing || this.#isStopped) return pass
    this.#isPassing = true
    const startedAt = schedulerPasses.hasSubscribers ? this.#clock.now() : undefined
    try {
      while (pass.handed < LONGEST_PASS && !this.#isStopped) {
        const now = this.#clock.now()
        pass.expired += this.#expire(now)
        const job = this.#store.claim(now, this.#handoff.hasRoom, this.#handoff)
        if (job === undefined) break
        this.#handoff.deliver(job)
        pass.handed++
        // Its caller continues when this pass is over, and must not wait for the handlers of other jobs.
        if (job.isTurn) break
      }
      pass.forgotten = this.#store.forget(this.#clock.now())
    } finally {
      this.#isPassing = false
      this.wake()
    }
    this.#publish(pass, startedAt)
    return pass
  }

  #publish({ handed, expired }: Pass, startedAt: number | undefined): void {
    const of = { shaper: this.#ports.name, shard: 0 }
    if (handed > 0 && handoffs.hasSubscribers) {
      handoffs.publish({ ...of, jobs: handed, outcome: 'added' })
    }
    if (startedAt !== undefined) {
      const duration = this.#clock.now() - startedAt
      schedulerPasses.publish({ ...of, duration, handed, expired, recovered: 0 })
    }
    // In memory there is no other scheduler to elect.
    if (leaderships.hasSubscribers) leaderships.publish({ ...of, isLeader: true })
  }

  /** Sets the timer to an earlier time if something is due earlier. It never moves later; it may fire too early. */
  wake(): void {
    if (this.#isStopped || this.#isPassing) return
    const { hasRoom } = this.#handoff
    const departure = this.#store.nextDeparture(hasRoom)
    const due = Math.min(departure, this.#store.nextChore())
    if (due >= this.#armedFor) return
    this.#disarm?.()
    this.#armedFor = due
    const isNear = departure - due < LATENESS_OF_CHORES
    this.#disarm = this.#clock.wake(
      due,
      this.#onTimer,
      isNear ? this.#store.nextTolerance(hasRoom) : CHORE_SLACK,
    )
  }

  /** Stops for good; safe to call twice. */
  stop(): void {
    this.#isStopped = true
    this.#disarm?.()
    this.#disarm = undefined
  }

  readonly #onTimer = () => {
    this.#armedFor = Number.POSITIVE_INFINITY
    this.runOnce()
  }

  #expire(now: number): number {
    const expired = this.#store.expire(now)
    for (const job of expired) this.#ports.onExpired(job, now)
    const { held } = this.#store
    if (held.earliest <= now)
      for (const turn of held.releaseOverdue(now)) this.#ports.onHoldExpired(turn, now)
    return expired.length
  }
}
