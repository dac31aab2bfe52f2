import { z } from 'zod'
import type { Meter } from '../meter/meter.ts'
import { type AccessToken, accessTokenSchema } from './access.ts'
import type { HeapReading } from './overload.ts'
import type { PageFiles } from './page-file.ts'

const callback = <Call>(what: string) =>
  z.custom<Call>((value) => typeof value === 'function', { error: `a function, ${what}` })

/** An answered request, for logs and metrics; it holds no text from the client except a valid request id. */
export interface Answered {
  readonly method: string
  /** The route's pattern, such as `/v1/buckets/{key}/jobs`; `unknown` where there is none. */
  readonly route: string
  readonly status: number
  /** The time until the response began. */
  readonly ms: number
  readonly requestId: string
}

/** The answer of `/metrics`. */
export interface MetricsText {
  readonly contentType: string
  readonly text: string
}

/** What is wrong with the data of a job, and the path to it within the data: `{ detail, path: ['url'] }`. */
export interface DataFault {
  readonly detail: string
  readonly path: readonly string[]
}

/** Options of `createHttpApp`. */
export const httpOptionsSchema = z.strictObject({
  /**
   * The access tokens: a list, or a function that is called for the list at every request, so that it can be replaced;
   * return the same array until it changes. Default: none, and every request may do everything.
   */
  tokens: z
    .union([z.array(accessTokenSchema), callback<() => readonly AccessToken[]>('() => AccessToken[]')])
    .default([]),
  /** The meter behind `/v1/meters`; it is not closed with the app. Default: none, and those routes answer 404. */
  meter: z.custom<MeterPort>(isMeter, { error: 'a Meter' }).optional(),
  /**
   * The files of the page from `openDashboard`. The page is the answer at `/` for clients that prefer HTML. Default: none.
   */
  dashboard: z
    .custom<PageFiles>((value) => value instanceof Map, { error: 'that of openDashboard' })
    .optional(),
  /** The version of the product, for `/v1/session`. Default: unknown. */
  version: z.string().default('unknown'),
  /** `system`: only the routes about the process itself, `/healthz`, `/readyz`, `/metrics`. Default: `all`. */
  routes: z.enum(['all', 'system']).default('all'),
  /** The largest body of a request. Default: 64 KiB. */
  bodyLimitBytes: z
    .int()
    .min(1_024)
    .max(64 * 1_024 * 1_024)
    .default(65_536),
  /** The largest body of `POST /v1/jobs`. Default: 1 MiB. */
  batchLimitBytes: z
    .int()
    .min(1_024)
    .max(256 * 1_024 * 1_024)
    .default(1_048_576),
  /** Jobs in one `POST /v1/jobs`. Default: 1,000. */
  maxBatch: z.int().min(1).max(10_000).default(1_000),
  /**
   * Fields, elements and values in one body, together: the time for a body grows with them more than with its size.
   * Default: 20,000.
   */
  maxValues: z.int().min(100).max(10_000_000).default(20_000),
  /** Origins whose pages may call the API, such as `https://ops.example.com`. Default: none. */
  corsOrigins: z
    .array(z.string().regex(/^https?:\/\/[^/\s]+$/, "an origin such as 'https://ops.example.com'"))
    .default([]),
  /** The load from which requests are refused with 503. */
  overload: z
    .strictObject({
      /** The event loop's lag, its 90th percentile over half a second. Default: 200 ms. */
      maxLagMs: z.number().positive().default(200),
      /** Requests in flight. Default: 2,000. */
      maxInFlight: z.int().min(1).default(2_000),
      /** The share of `maxInFlight` that one token may take; a token with `admin` for every key may take all. Default: 0.5. */
      maxTokenShare: z.number().positive().max(1).default(0.5),
      /**
       * The share of the heap limit in use from which new jobs, buckets and rules are refused; lines in memory use heap.
       * Default: 0.9.
       */
      maxHeapShare: z.number().positive().max(1).default(0.9),
      /**
       * The part of the heap limit that stays free of them, in MiB: 48 of V8's limit are for new objects alone, and requests
       * under way take some. Default: 64.
       */
      heapReserveMb: z.int().min(0).max(1_048_576).default(64),
      /**
       * The share that one first segment of keys may have of what is left for it: of what it has and what is free up to those two
       * bounds. So one that is alone may have this share of all, and one that takes what it can leaves room for another. 1: no
       * bound for one. Default: 0.5.
       */
      maxSegmentShare: z.number().positive().max(1).default(0.5),
    })
    .prefault({}),
  /**
   * The longest `timeoutMs` that a job may bring, in milliseconds; one that asks for more is refused with 422. Workers have to
   * have the same maximum. Default: none.
   */
  maxTimeoutMs: z.int().min(1).optional(),
  /**
   * Rules set by hand, of one token name and of one first segment of patterns; local limits are counted on their own.
   * Default: 1,000.
   */
  maxRules: z.int().min(1).max(100_000).default(1_000),
  /** Streams of events at once; a tenth is reserved for tokens with `admin` for every key. Default: 100. */
  maxStreams: z.int().min(1).max(100_000).default(100),
  /** Streams of one token at once, without those tokens. Default: 20. */
  maxStreamsPerToken: z.int().min(1).max(100_000).default(20),
  /**
   * Buckets whose last verdicts and departures one token may watch at once, without those tokens; 100 are watched in all.
   * Default: 20.
   */
  maxWatchedPerToken: z.int().min(1).max(100).default(20),
  /** The interval of the comments that keep a stream of events open. Default: 15 s. */
  keepAliveMs: z.number().min(10).max(600_000).default(15_000),
  /** The interval of the snapshots in a stream of events. Default: 1 s. */
  snapshotMs: z.number().min(10).max(600_000).default(1_000),
  /** Whether the service is shutting down: new jobs and `/readyz` get 503, and streams end. Default: never. */
  isDraining: callback<() => boolean>('() => boolean').default(() => () => false),
  /** Rejects while the service is not ready. Default: `shaper.ready()`. */
  readiness: callback<() => Promise<void>>('() => Promise<void>').optional(),
  /** The text of `/metrics`. Default: none, and the route answers 404. */
  metrics: callback<() => Promise<MetricsText>>('() => Promise<MetricsText>').optional(),
  /** Called with every error that was answered with 500. */
  onError: callback<(error: unknown, requestId: string) => void>('(error, requestId) => void').optional(),
  /** Called after every answer. */
  onRequest: callback<(answered: Answered) => void>('(answered) => void').optional(),
  /**
   * Checks the data of every job before admission. A job with a fault is refused with 422, since its handler would always
   * fail. Default: accepts all JSON.
   */
  dataFault: callback<(data: unknown) => DataFault | undefined>('(data) => DataFault | undefined').optional(),
  /** Replaces the clock for the rates of tokens: microseconds. */
  now: callback<() => number>('() => number').optional(),
  /** Replaces the measurement of the event loop's lag: milliseconds. */
  lagMs: callback<() => number>('() => number').optional(),
  /** Replaces the measurement of the heap: what is in use and its limit, in bytes. */
  heap: callback<() => HeapReading>('() => { used, limit }').optional(),
})

export type HttpOptions = Omit<z.input<typeof httpOptionsSchema>, 'tokens'> & {
  readonly tokens?: readonly AccessToken[] | (() => readonly AccessToken[])
}
export type HttpSettings = Readonly<z.output<typeof httpOptionsSchema>>

/** A meter, or what has its verbs. Without `heap`, its levels do not count in the share of memory. */
export type MeterPort = Pick<Meter, 'fill' | 'canAccept' | 'level' | 'drain'> & Partial<Pick<Meter, 'heap'>>

function isMeter(value: unknown): boolean {
  const meter = value as Partial<Meter> | null | undefined
  return [meter?.fill, meter?.canAccept, meter?.level, meter?.drain].every(
    (verb) => typeof verb === 'function',
  )
}
