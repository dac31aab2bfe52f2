import { z } from 'zod'
import { encodeData } from '../core/data.ts'
import { describe } from '../core/describe.ts'
import { MILLISECOND } from '../core/duration.ts'
import { DataTooLargeError, InvalidOptionsError, isVelvetRopeError } from '../core/errors.ts'
import type { JobSettings, Rejected, TurnRefusal } from '../core/job.ts'
import { checkBucketKey, checkKey } from '../core/key.ts'
import { parseOptions } from '../core/options.ts'
import {
  type BucketQuery,
  type BucketQueryInput,
  bucketQuerySchema,
  type TallyGroup,
} from '../line/bucket-query.ts'
import { type FamilyQuery, type FamilyQueryInput, familyQuerySchema } from '../line/family-query.ts'
import type { JobRequest } from '../line/job.ts'
import type { JobDefaults } from '../line/options.ts'
import { type FreezeRequest, freezeRequest } from '../line/outcome.ts'
import { readAmounts, type SettleRequest } from '../line/settle.ts'
import {
  type AcquireOptions,
  acquireOptionsSchema,
  type EnqueueOptions,
  type EnqueueSettings,
  enqueueOptionsSchema,
  enqueueRequestSchema,
  type FindOptions,
  type ForecastOptions,
  type FreezeOptions,
  findOptionsSchema,
  forecastOptionsSchema,
  freezeOptionsSchema,
  type LineOptions,
  peekOptionsSchema,
  type SettleOptions,
  settleOptionsSchema,
  type TryAcquireOptions,
  tryAcquireOptionsSchema,
} from './options.ts'

/** A turn has no handler that could fail or take time. */
const TURN_SETTINGS = Object.freeze<JobSettings>({
  attempts: 1,
  backoff: { type: 'fixed', delayMs: 1, maxDelayMs: 1, jitter: 0 },
  timeoutMs: 60_000,
})

const NO_OPTIONS: EnqueueSettings = Object.freeze({})

/**
 * Checks the arguments of a producer and turns them into a request. Its `deadline` is a duration that begins when the line
 * gets the request: only the line has the clock.
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
    checkBucketKey(key)
    const text = this.#encode(data)
    const options = input === undefined ? NO_OPTIONS : parseOptions(enqueueOptionsSchema, input, 'enqueue')
    return this.#requestOf(key, text, options)
  }

  /** The same for `enqueueMany`; the error message names the index of the invalid request. */
  readMany(requests: unknown): JobRequest[] {
    if (!Array.isArray(requests)) {
      throw new InvalidOptionsError(`enqueueMany: expected an array of requests, got: ${describe(requests)}`)
    }
    return Array.from(requests, (request: unknown, index) => {
      try {
        const options = parseOptions(enqueueRequestSchema, request, 'request')
        const { key, data } = options
        checkBucketKey(key)
        return this.#requestOf(key, this.#encode(data), options)
      } catch (error) {
        if (isVelvetRopeError(error)) error.message = `enqueueMany [${index}]: ${error.message}`
        throw error
      }
    })
  }

  #requestOf(key: string, data: string, options: EnqueueSettings): JobRequest {
    const { id, cost = 1, costs, deadlineMs = Number.POSITIVE_INFINITY, traceparent } = options
    const deadline = deadlineMs * MILLISECOND
    const settings = this.#settings(options)
    const request = { id, key, data, cost, deadline, settings, traceparent }
    return costs === undefined ? request : { ...request, costs }
  }

  #encode(data: unknown): string {
    const text = encodeData(data)
    // No character takes more than three bytes for each of its units.
    if (text.length * 3 <= this.#maxDataBytes) return text
    const bytes = Buffer.byteLength(text)
    if (bytes > this.#maxDataBytes) throw new DataTooLargeError(bytes, this.#maxDataBytes)
    return text
  }

  /** Jobs without settings of their own share one object. */
  #settings({ attempts, backoff, timeoutMs }: Partial<JobSettings>): JobSettings {
    if (attempts === undefined && backoff === undefined && timeoutMs === undefined) return this.#defaults
    return Object.freeze({
      attempts: attempts ?? this.#defaults.attempts,
      backoff: backoff ?? this.#defaults.backoff,
      timeoutMs: timeoutMs ?? this.#defaults.timeoutMs,
    })
  }
}

/** Reads the arguments of `acquire`. @throws InvalidKeyError or InvalidOptionsError */
export function readTurn(key: string, input: AcquireOptions) {
  const {
    signal,
    timeoutMs = Number.POSITIVE_INFINITY,
    ...turn
  } = parseOptions(acquireOptionsSchema, input, 'acquire')
  return { request: turnRequest(key, turn, timeoutMs), signal }
}

/** Reads the arguments of `tryAcquire`. @throws InvalidKeyError or InvalidOptionsError */
export function readImmediateTurn(key: string, input: TryAcquireOptions): JobRequest {
  return turnRequest(key, parseOptions(tryAcquireOptionsSchema, input, 'tryAcquire'), 0)
}

type TurnParts = Pick<z.output<typeof acquireOptionsSchema>, 'cost' | 'costs' | 'holdMs'>

function turnRequest(key: string, { cost, costs, holdMs }: TurnParts, timeoutMs: number): JobRequest {
  checkBucketKey(key)
  const deadline = timeoutMs * MILLISECOND
  const turn = { id: undefined, key, data: 'null', cost, deadline, settings: TURN_SETTINGS } as const
  return { ...turn, isTurn: true, holdFor: holdMs * MILLISECOND, ...(costs && { costs }) }
}

/** What `tryAcquire` returns for a refusal. The line refuses for a deadline that is over; the caller named none. */
export function refusalOfTurn({ reason, ...refusal }: Rejected): TurnRefusal {
  return { ...refusal, reason: reason === 'deadline' ? 'not-now' : reason }
}

/** Reads the arguments of `forecast`. @throws InvalidKeyError or InvalidOptionsError */
export function readForecast(key: string, asked: number | ForecastOptions) {
  checkBucketKey(key)
  const input = typeof asked === 'object' && asked !== null ? asked : { cost: asked }
  const { cost = 1, costs } = parseOptions(forecastOptionsSchema, input, 'forecast')
  return { cost, costs }
}

/** Reads the arguments of `freeze`. @throws InvalidKeyError or InvalidOptionsError */
export function readFreeze(key: string, forMs: number, input: FreezeOptions): FreezeRequest {
  checkKey(key)
  const { atMostMs } = parseOptions(freezeOptionsSchema, input, 'freeze')
  return freezeRequest(forMs, atMostMs)
}

/** Reads the arguments of `line`, and returns how many jobs to list. @throws InvalidKeyError or InvalidOptionsError */
export function readLineLimit(key: string, input: LineOptions): number {
  checkBucketKey(key)
  return parseOptions(peekOptionsSchema, input, 'line').limit
}

/** @throws InvalidOptionsError */
export function readBucketQuery(query: BucketQueryInput): BucketQuery {
  return parseOptions(bucketQuerySchema, query, 'buckets')
}

/** @throws InvalidOptionsError */
export function readFamilyQuery(query: FamilyQueryInput): FamilyQuery {
  return parseOptions(familyQuerySchema, query, 'families')
}

const tallySchema = z.strictObject({ groups: z.array(z.array(z.string())) })

/** Reads the argument of `tally`. @throws InvalidOptionsError */
export function readGroups(input: unknown): readonly TallyGroup[] {
  return parseOptions(tallySchema, { groups: input }, 'tally').groups
}

/**
 * Reads the arguments of `job`, `cancel` and `explain`, and returns the key. Most strings are the id of no job, and that is no error.
 *
 * @throws InvalidOptionsError or InvalidKeyError
 */
export function readFind(id: unknown, input: FindOptions): string | undefined {
  if (typeof id !== 'string') {
    throw new InvalidOptionsError(`expected the id of a job to be a string, got: ${describe(id)}`)
  }
  const { key } = parseOptions(findOptionsSchema, input, 'job')
  if (key !== undefined) checkKey(key)
  return key
}

/** Reads the arguments of `settle`. @throws InvalidOptionsError or InvalidKeyError */
export function readSettle(id: string, amounts: unknown, input: SettleOptions): SettleRequest {
  const { fence, attempt, ...place } = parseOptions(settleOptionsSchema, input, 'settle')
  return { id, key: readFind(id, place), which: { fence, attempt }, amounts: readAmounts(amounts) }
}
