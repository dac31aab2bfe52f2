import { setTimeout as sleep } from 'node:timers/promises'
import { isVelvetRopeError } from '../core/errors.ts'
import { toError } from '../core/thrown.ts'
import type { Shaper } from '../shaper/shaper.ts'
import type { Log } from '../telemetry/log.ts'
import type { LimitLayer } from './open-shaper.ts'

const TRY_AGAIN_AFTER_MS = 1_000

/**
 * Loads the limits of a configuration into the rule book. While Redis is unavailable it retries, always with the newest
 * limits, so that no change is lost.
 */
export class RuleLoading {
  readonly #shaper: Shaper
  readonly #log: Log
  readonly #closed = new AbortController()
  #wanted: readonly LimitLayer[] | undefined
  #underWay: Promise<void> | undefined

  constructor(shaper: Shaper, log: Log) {
    this.#shaper = shaper
    this.#log = log
  }

  /** Resolves when these layers or newer ones are in force, or can never be, which is logged. */
  load(layers: readonly LimitLayer[]): Promise<void> {
    this.#wanted = layers
    this.#underWay ??= this.#run()
    return this.#underWay
  }

  close(): void {
    this.#closed.abort()
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed
    while (this.#wanted !== undefined && !signal.aborted) {
      const layers = this.#wanted
      try {
        for (const layer of layers) await this.#load(layer)
        if (this.#wanted === layers) this.#wanted = undefined
      } catch (thrown) {
        const error = toError(thrown)
        this.#log.error('limits not loaded', { error })
        if (isVelvetRopeError(error, 'backend-unavailable')) {
          await sleep(TRY_AGAIN_AFTER_MS, undefined, { signal, ref: false }).catch(() => undefined)
        } else if (this.#wanted === layers) this.#wanted = undefined
      }
    }
    this.#underWay = undefined
  }

  async #load({ limits, ...from }: LimitLayer): Promise<void> {
    const { origin } = from
    const { set, unset } = await this.#shaper.limits.load(limits, from)
    this.#log.info('limits in force', { origin, set: set.length, unset: unset.length })
  }
}
