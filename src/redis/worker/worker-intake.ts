import { backoffDelay } from '../../core/backoff.ts'
import type { Clock } from '../../core/clock.ts'
import { toError } from '../../core/thrown.ts'
import type { ReceiveOptions, Receiver, Transport } from '../transport/transport.ts'

const RETRY = { type: 'exponential', delayMs: 100, maxDelayMs: 1_000, jitter: 0.5 } as const
const COARSE = Number.POSITIVE_INFINITY

/** Opens the transport for a worker, again and again until it is open, and closes it. */
export class WorkerIntake {
  readonly #transport: Pick<Transport, 'receive'>
  readonly #clock: Clock
  readonly #options: ReceiveOptions
  readonly #receiver: Promise<Receiver | undefined>
  #isStopped = false
  #hurry: (() => void) | undefined

  constructor(transport: Pick<Transport, 'receive'>, clock: Clock, options: ReceiveOptions) {
    this.#transport = transport
    this.#clock = clock
    this.#options = options
    this.#receiver = this.#open()
  }

  /** Nothing comes any more, but for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#hurry?.()
    const receiver = await this.#receiver
    await receiver?.stop()
  }

  /** Resolves when all that came has been settled. */
  async close(): Promise<void> {
    const receiver = await this.#receiver
    await receiver?.close()
  }

  async #open(): Promise<Receiver | undefined> {
    for (let failures = 0; !this.#isStopped; ) {
      try {
        return await this.#transport.receive(this.#options)
      } catch (error) {
        if (failures === 0) this.#options.onError(toError(error))
        await this.#pause(++failures)
      }
    }
    return undefined
  }

  async #pause(failures: number): Promise<void> {
    const until = this.#clock.now() + backoffDelay(RETRY, failures, Math.random())
    let cancel: (() => void) | undefined
    await new Promise<void>((resolve) => {
      this.#hurry = resolve
      cancel = this.#clock.wake(until, resolve, COARSE)
    })
    cancel?.()
  }
}
