import { setTimeout as sleep } from 'node:timers/promises'
import { toError } from '../core/errors.ts'
import type { Shaper } from '../shaper/shaper.ts'
import type { Log } from '../telemetry/log.ts'

const TRY_AGAIN_AFTER_MS = 1_000

/**
 * Brings the limits of a file into the rule book. While the store is away it tries again, always with the newest: a
 * change that was read is not forgotten because Redis was restarted at that moment.
 */
export class RuleLoading {
  readonly #shaper: Shaper
  readonly #log: Log
  readonly #closed = new AbortController()
  #wanted: Readonly<Record<string, string>> | undefined
  #underWay: Promise<void> | undefined

  constructor(shaper: Shaper, log: Log) {
    this.#shaper = shaper
    this.#log = log
  }

  /** Resolves when these limits are in force, or newer ones, or it was closed. */
  load(limits: Readonly<Record<string, string>>): Promise<void> {
    this.#wanted = limits
    this.#underWay ??= this.#run().finally(() => {
      this.#underWay = undefined
    })
    return this.#underWay
  }

  close(): void {
    this.#closed.abort()
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed
    while (this.#wanted !== undefined && !signal.aborted) {
      const limits = this.#wanted
      try {
        const { set, unset } = await this.#shaper.limits.load(limits, { origin: 'file' })
        if (this.#wanted === limits) this.#wanted = undefined
        this.#log.info('limits in force', { set: set.length, unset: unset.length })
      } catch (thrown) {
        this.#log.error('limits not loaded yet', { error: toError(thrown) })
        await sleep(TRY_AGAIN_AFTER_MS, undefined, { signal, ref: false }).catch(() => undefined)
      }
    }
  }
}
