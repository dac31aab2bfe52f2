import type { Clock } from '../../core/clock.ts'
import { retryDelay } from '../connection/retry-delay.ts'
import type { Leases } from '../slots/leases.ts'
import type { ShardCalls } from '../slots/shard-calls.ts'
import type { Delivery } from '../transport/transport.ts'
import type { FinishAnswer, FinishReport, SharedOutcome } from '../verbs/finish.ts'

const COARSE = Number.POSITIVE_INFINITY

export interface ReportPorts {
  readonly clock: Clock
  readonly calls: Pick<ShardCalls, 'start' | 'finish'>
  readonly leases: Leases
}

/**
 * What the store is told of one attempt: that it started, and how it ended. Both are told again until the store has
 * answered or the lease is lost. A start that the store has not acknowledged is told along with the end.
 */
export class WorkerReports {
  readonly #ports: ReportPorts
  readonly #job: Delivery
  #startedAt = Number.NEGATIVE_INFINITY
  #isStartKnown = false
  #hasEnded = false

  constructor(ports: ReportPorts, job: Delivery) {
    this.#ports = ports
    this.#job = job
  }

  /** @param startedAt by the store's clock, in microseconds; told along with the end */
  noteStart(startedAt: number): void {
    this.#startedAt = startedAt
  }

  /** The same, told before the end. */
  async start(startedAt: number): Promise<void> {
    this.noteStart(startedAt)
    const { calls, leases } = this.#ports
    const { shard, id, epoch } = this.#job
    for (let failures = 0; !this.#hasEnded && !leases.isSurelyOver(this.#job); ) {
      try {
        const isMine = await calls.start(shard, { id, epoch, startedAt: this.#startedAt })
        // After the end this answer says nothing: the report of the end, which is on its way, took this one's place.
        if (this.#hasEnded) return
        if (isMine) this.#isStartKnown = true
        else leases.lose(this.#job)
        return
      } catch {
        await this.#pause(++failures)
      }
    }
  }

  /** Undefined: the lease was lost before the store could be told. */
  async end(outcome: SharedOutcome): Promise<FinishAnswer | undefined> {
    const { calls, leases } = this.#ports
    const { shard, id, epoch } = this.#job
    this.#hasEnded = true
    for (let failures = 0; !leases.isSurelyOver(this.#job); ) {
      const report: FinishReport = { id, epoch, outcome }
      try {
        return await calls.finish(
          shard,
          this.#isStartKnown ? report : { ...report, startedAt: this.#startedAt },
        )
      } catch {
        await this.#pause(++failures)
      }
    }
    return undefined
  }

  #pause(failures: number): Promise<void> {
    const { clock } = this.#ports
    const until = clock.now() + retryDelay(failures)
    return new Promise((resolve) => void clock.wake(until, resolve, COARSE))
  }
}
