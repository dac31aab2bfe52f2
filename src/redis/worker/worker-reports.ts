import type { Clock } from '../../core/clock.ts'
import { retryDelay } from '../connection/retry-delay.ts'
import type { Leases } from '../slots/leases.ts'
import type { ShardCalls } from '../slots/shard-calls.ts'
import type { Delivery } from '../transport/transport.ts'
import type { FinishAnswer, FinishOutcome, FinishReport } from '../verbs/finish.ts'

const COARSE = Number.POSITIVE_INFINITY

export interface ReportPorts {
  readonly clock: Clock
  readonly calls: Pick<ShardCalls, 'start' | 'finish'>
  readonly leases: Leases
  /** The next jobs of its bucket are to ask for their slots. */
  readonly onStop: (job: Delivery) => void
}

/**
 * Reports one attempt to the store: its start and its end. Each report is sent again until the store has answered or the lease
 * is lost. A start that the store has not acknowledged travels with the end.
 */
export class WorkerReports {
  readonly #ports: ReportPorts
  readonly #job: Delivery
  #startedAt = Number.NEGATIVE_INFINITY
  #isStartKnown = false
  #hasEnded = false
  #charged: string | undefined

  constructor(ports: ReportPorts, job: Delivery) {
    this.#ports = ports
    this.#job = job
  }

  /** What a turn that has ended was charged in named units; undefined: the store has not taken the report of its end. */
  get charged(): string | undefined {
    return this.#charged
  }

  /** Keeps the start for the report of the end. @param startedAt by the store's clock, in microseconds */
  noteStart(startedAt: number): void {
    this.#startedAt = startedAt
  }

  /** Reports the start before the end. @param startedAt by the store's clock, in microseconds */
  async start(startedAt: number): Promise<void> {
    this.noteStart(startedAt)
    const { calls, leases } = this.#ports
    const { shard, id, epoch } = this.#job
    for (let failures = 0; !this.#hasEnded && !leases.isSurelyOver(this.#job); ) {
      try {
        const answer = await calls.start(shard, { id, epoch, startedAt: this.#startedAt })
        if (answer !== 'started') this.#ports.onStop(this.#job)
        // The report of the end, which is on its way, has replaced this one: its answer says nothing.
        if (this.#hasEnded) return
        if (answer !== 'lost') this.#isStartKnown = true
        else leases.lose(this.#job)
        return
      } catch {
        await this.#pause(++failures)
      }
    }
  }

  /**
   * Reports the end. Undefined: the lease was lost before the store had answered. A report that was not answered may have been
   * carried out, and is the reason why the lease is over; so it is sent again until the store has said what became of it.
   */
  async end(outcome: FinishOutcome): Promise<FinishAnswer | undefined> {
    const { calls, leases } = this.#ports
    const { shard, id, epoch } = this.#job
    this.#hasEnded = true
    if (outcome.kind === 'freeze') this.#ports.onStop(this.#job)
    for (let failures = 0; !(failures > 0 ? leases.isGivenUp(this.#job) : leases.isSurelyOver(this.#job)); ) {
      const report: FinishReport = { id, epoch, outcome }
      try {
        const answer = await calls.finish(
          shard,
          this.#isStartKnown ? report : { ...report, startedAt: this.#startedAt },
        )
        if (answer.stops === true || !answer.isMine) this.#ports.onStop(this.#job)
        if (answer.isMine) this.#charged = answer.charged ?? ''
        return answer
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

/** Resolves when the worker has sent the reports of this turn of the event loop, which it does at the end of it. */
export async function reportsSent(): Promise<void> {
  for (let tick = 0; tick < 2; tick++) await new Promise<void>((resolve) => process.nextTick(resolve))
  await new Promise<void>((resolve) => void setImmediate(resolve))
}
