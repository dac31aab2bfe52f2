import type { Clock } from '../../core/clock.ts'
import type { Costs } from '../../core/usage.ts'
import { emitSettled } from '../../line/emit.ts'
import type { Emitter } from '../../line/emitter.ts'
import { operationName } from '../scripts/store.ts'
import type { SettleRequest } from '../verbs/settle.ts'
import type { Verbs } from '../verbs/verbs.ts'
import { EndedTurn } from './ended-turn.ts'
import type { JobStart } from './job-start.ts'

export interface StartSettlingPorts<Result> {
  readonly clock: Clock
  readonly emitter: Emitter<Result>
  /** It is the start of a turn. */
  readonly startsAtEnd: boolean
  readonly settle: Verbs['settle']
}

/** Its times are read when they are needed: a start may be settled before it is timed. */
type Start = Pick<
  JobStart<unknown, unknown>,
  'job' | 'run' | 'reports' | 'holdsPlace' | 'departedAt' | 'countedAt' | 'now'
>

/** Settles what one start really took in named units, and emits it where the store counts it. */
export class StartSettling<Result> {
  readonly #start: Start
  readonly #ports: StartSettlingPorts<Result>
  #endedTurn: EndedTurn | undefined

  constructor(start: Start, ports: StartSettlingPorts<Result>) {
    this.#start = start
    this.#ports = ports
  }

  /** Resolves to whether these amounts count now. @throws UnknownUnitError */
  settle(amounts: Costs): Promise<boolean> {
    return this.#ports.startsAtEnd ? this.#settleTurn(amounts) : this.#settleUnits(amounts)
  }

  /** Its start may not be reported yet, so it travels with this. */
  async #settleUnits(amounts: Costs): Promise<boolean> {
    // A handler may settle while it is being called: then its start is timed first.
    await Promise.resolve()
    return this.#settleAs(amounts, { startedAt: this.#start.departedAt })
  }

  /** A turn that holds no place has ended when it is settled, and the store may have forgotten it: that is kept here. */
  async #settleTurn(amounts: Costs): Promise<boolean> {
    const { job, run, reports, holdsPlace } = this.#start
    if (holdsPlace) {
      await goneOn()
      return this.#settleAs(amounts, { startedAt: this.#start.countedAt })
    }
    await run
    const { charged } = reports
    // Where its lease was lost, it is not known what it was charged, and the estimate stands.
    if (charged === undefined) return false
    const { cost, costs } = job
    const startedAt = this.#start.countedAt
    this.#endedTurn ??= new EndedTurn(
      charged,
      this.#ports.clock.now,
      operationName,
      (counted, operation, isAgain) =>
        this.#settleAs(counted, { startedAt, operation, ended: { cost, charged, costs, isAgain } }),
    )
    return this.#endedTurn.settle(amounts)
  }

  async #settleAs(
    amounts: Costs,
    how: Pick<SettleRequest, 'startedAt' | 'ended' | 'operation'>,
  ): Promise<boolean> {
    const { job, now } = this.#start
    const { id, key, fence } = job
    const isFirst = await this.#ports.settle({ id, key, fence, amounts, ...how })
    if (isFirst) emitSettled(this.#ports.emitter, job, amounts, now)
    return isFirst
  }
}

/** Resolves when all that goes on after a promise of this tick has gone on. */
export function goneOn(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))
}
