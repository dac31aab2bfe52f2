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

/** Logs when newer limits than those of the configuration are in force. Returns a function that ends that. */
export function warnOfOldRules(shaper: Shaper, log: Log): () => void {
  const onError = (error: Error) => {
    if (!isVelvetRopeError(error, 'old-rule-book')) return
    log.warn('newer limits are in force than those of this configuration: SIGHUP puts these into force')
  }
  shaper.on('error', onError)
  return () => void shaper.off('error', onError)
}

/**
 * Returns the layers to load after a change, new ones first. A layer that the configuration no longer fills is emptied.
 */
export function layersAfter(before: readonly LimitLayer[], after: readonly LimitLayer[]): LimitLayer[] {
  const changed = after.filter((layer) => before.every((old) => differ(old, layer)))
  const left = before.filter(({ origin }) => after.every((layer) => layer.origin !== origin))
  return [...changed, ...left.map((layer) => ({ ...layer, limits: {} }))]
}

/** Compares two parts of a configuration, which are plain data. */
export function differ(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other)
}
