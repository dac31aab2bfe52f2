import { encodeData } from '../core/data.ts'
import { describe } from '../core/describe.ts'
import { MILLISECOND } from '../core/duration.ts'
import { DataTooLargeError, InvalidOptionsError, isVelvetRopeError } from '../core/errors.ts'
import type { JobSettings } from '../core/job.ts'
import { checkKey } from '../core/key.ts'
import { parseOptions } from '../core/options.ts'
import type { JobRequest } from '../line/backend.ts'
import type { JobDefaults } from '../line/options.ts'
import {
  type EnqueueOptions,
  type EnqueueSettings,
  enqueueOptionsSchema,
  enqueueRequestSchema,
} from './options.ts'

/** Nothing can fail, or take time. */
const TURN_SETTINGS = Object.freeze<JobSettings>({
  attempts: 1,
  backoff: { type: 'fixed', delayMs: 1, maxDelayMs: 1, jitter: 0 },
  timeoutMs: 60_000,
})

interface TurnSettings {
  readonly cost: number
  readonly timeoutMs?: number | undefined
}

const NO_OPTIONS: EnqueueSettings = Object.freeze({})

/**
 * Turns what a producer passes into a request whose every part was checked, or throws and nothing happened. Its
 * `deadline` is a duration, which begins when the line gets the request: only the line has the clock.
 */
export class RequestReader {
  readonly #defaults: JobSettings

  readonly #maxDataBytes: number

  constructor({ attempts, backoff, timeoutMs }: JobDefaults, maxDataBytes: number) {
    this.#defaults = Object.freeze({ attempts, backoff, timeoutMs })
    this.#maxDataBytes = maxDataBytes
  }

  /** @throws InvalidKeyError, InvalidDataError, DataTooLargeError or InvalidOptionsError */
  read(key: string, data: unknown, input: EnqueueOptions | undefined): JobRequest {
    checkKey(key)
    const text = encodeData(data)
    this.#checkSize(text)
    const options = input === undefined ? NO_OPTIONS : parseOptions(enqueueOptionsSchema, input, 'enqueue')
    const { id, cost = 1, deadlineMs = Number.POSITIVE_INFINITY, traceparent } = options
    const deadline = deadlineMs * MILLISECOND
    return { id, key, data: text, cost, deadline, settings: this.#settings(options), traceparent }
  }

  /** The request of a caller who waits for his turn. */
  readTurn(key: string, { cost, timeoutMs }: TurnSettings): JobRequest {
    checkKey(key)
    const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : timeoutMs * MILLISECOND
    return { id: undefined, key, data: 'null', cost, deadline, settings: TURN_SETTINGS, isTurn: true }
  }

  /** The same for `enqueueMany`; the message says which of the requests is at fault. */
  readMany(requests: unknown): JobRequest[] {
    if (!Array.isArray(requests)) {
      throw new InvalidOptionsError(`enqueueMany: expected an array of requests, got: ${describe(requests)}`)
    }
    return Array.from(requests, (request: unknown, index) => {
      try {
        const { key, data, ...options } = parseOptions(enqueueRequestSchema, request, 'request')
        return this.read(key as string, data, options)
      } catch (error) {
        if (isVelvetRopeError(error)) error.message = `enqueueMany [${index}]: ${error.message}`
        throw error
      }
    })
  }

  #checkSize(text: string): void {
    // No character takes more than three bytes for each of its units.
    if (text.length * 3 <= this.#maxDataBytes) return
    const bytes = Buffer.byteLength(text)
    if (bytes > this.#maxDataBytes) throw new DataTooLargeError(bytes, this.#maxDataBytes)
  }

  /** Jobs that say nothing special share one object. */
  #settings({ attempts, backoff, timeoutMs }: Partial<JobSettings>): JobSettings {
    if (attempts === undefined && backoff === undefined && timeoutMs === undefined) return this.#defaults
    return Object.freeze({
      attempts: attempts ?? this.#defaults.attempts,
      backoff: backoff ?? this.#defaults.backoff,
      timeoutMs: timeoutMs ?? this.#defaults.timeoutMs,
    })
  }
}

/** @throws InvalidOptionsError; any text may be asked for, and most is unknown */
export function checkId(id: unknown): asserts id is string {
  if (typeof id !== 'string') {
    throw new InvalidOptionsError(`expected the id of a job to be a string, got: ${describe(id)}`)
  }
}
