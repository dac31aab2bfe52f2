import { Alarm } from '../../core/alarm.ts'
import type { Clock } from '../../core/clock.ts'
import { toError } from '../../core/thrown.ts'
import { retryDelay } from '../connection/retry-delay.ts'
import type { ReceiveOptions, Receiver, Transport } from '../transport/transport.ts'

/** Opens the transport for a worker, trying again until it is open, and closes it. */
export class WorkerIntake {
  readonly #receive: Transport['receive']
  readonly #clock: Clock
  readonly #options: ReceiveOptions
  readonly #stopping: Alarm
  readonly #receiver: Promise<Receiver | undefined>
  #isStopped = false

  constructor(receive: Transport['receive'], clock: Clock, options: ReceiveOptions) {
    this.#receive = receive
    this.#clock = clock
    this.#options = options
    this.#stopping = new Alarm(clock, Number.POSITIVE_INFINITY)
    this.#receiver = this.#open()
  }

  /** Fetches no more; deliveries under way go on. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopping.ring()
    const receiver = await this.#receiver
    await receiver?.stop()
  }

  /** Resolves when all deliveries have settled. */
  async close(): Promise<void> {
    const receiver = await this.#receiver
    await receiver?.close()
  }

  async #open(): Promise<Receiver | undefined> {
    for (let failures = 0; !this.#isStopped; ) {
      try {
        return await this.#receive(this.#options)
      } catch (error) {
        if (failures === 0) this.#options.onError(toError(error))
        await this.#stopping.sleep(this.#clock.now() + retryDelay(++failures))
      }
    }
    return undefined
  }
}
