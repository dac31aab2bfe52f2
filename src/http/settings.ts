import { z } from 'zod'
import type { Meter } from '../meter/meter.ts'
import { type AccessToken, accessTokenSchema } from './access.ts'
import type { PageFiles } from './page-file.ts'

const callback = <Call>(what: string) =>
  z.custom<Call>((value) => typeof value === 'function', { error: `a function, ${what}` })

/** A request that was answered, for logs and metrics: nothing of it that a producer chose. */
export interface Answered {
  readonly method: string
  /** The route's pattern, such as `/v1/buckets/{key}/jobs`; `unknown` where there is none. */
  readonly route: string
  readonly status: number
  /** Until the answer began. */
  readonly ms: number
  readonly requestId: string
}

/** What `/metrics` answers. */
export interface MetricsText {
  readonly contentType: string
  readonly text: string
}

/** What is wrong with the data of a job, and the way to it from the data on: `{ detail, path: ['url'] }`. */
export interface DataFault {
  readonly detail: string
  readonly path: readonly string[]
}

/** Options of `createHttpApp`. */
export const httpOptionsSchema = z.strictObject({
  /**
   * Who may do what: a list, or a function that is asked for the list at every request, so that it can be replaced;
   * give the same list as long as it stays the same. Default: none, and everybody may do everything.
   */
  tokens: z
    .union([z.array(accessTokenSchema), callback<() => readonly AccessToken[]>('() => AccessToken[]')])
    .default([]),
  /** What `/v1/meters` fills; it is not closed with the app. Default: there is none, and those routes answer 404. */
  meter: z.custom<Meter>(isMeter, { error: 'a Meter' }).optional(),
  /**
   * The page that is answered at `/` to who prefers HTML, and the files that it loads, from `openDashboard`. Default:
   * there is none.
   */
  dashboard: z
    .custom<PageFiles>((value) => value instanceof Map, { error: 'that of openDashboard' })
    .optional(),
  /** Of the product, for `/v1/session`. Default: unknown. */
  version: z.string().default('unknown'),
  /** `system`: only what tells of the process itself, `/healthz`, `/readyz`, `/metrics`. Default: `all`. */
  routes: z.enum(['all', 'system']).default('all'),
  /** Default: 64 KiB. */
  bodyLimitBytes: z
    .int()
    .min(1_024)
    .max(64 * 1_024 * 1_024)
    .default(65_536),
  /** Of the body of `POST /v1/jobs`. Default: 1 MiB. */
  batchLimitBytes: z
    .int()
    .min(1_024)
    .max(256 * 1_024 * 1_024)
    .default(1_048_576),
  /** Jobs in one `POST /v1/jobs`. Default: 1,000. */
  maxBatch: z.int().min(1).max(10_000).default(1_000),
  /** Origins whose pages may call the API, such as `https://ops.example.com`. Default: none. */
  corsOrigins: z
    .array(z.string().regex(/^https?:\/\/[^/\s]+$/, "an origin such as 'https://ops.example.com'"))
    .default([]),
  /** When requests are turned away with 503. */
  overload: z
    .strictObject({
      /** The event loop's lag, its 90th percentile over half a second. Default: 200 ms. */
      maxLagMs: z.number().positive().default(200),
      /** Requests that are being answered. Default: 2,000. */
      maxInFlight: z.int().min(1).default(2_000),
      /** The share of the heap that may be in use before new jobs are refused; lines in memory grow it. Default: 0.9. */
      maxHeapShare: z.number().positive().max(1).default(0.9),
    })
    .prefault({}),
  /** Streams of events at once. Default: 100. */
  maxStreams: z.int().min(1).max(100_000).default(100),
  /** Between two comments that keep a stream of events open. Default: 15 s. */
  keepAliveMs: z.number().min(10).max(600_000).default(15_000),
  /** Between two snapshots in a stream of events. Default: 1 s. */
  snapshotMs: z.number().min(10).max(600_000).default(1_000),
  /** Whether the service is going down: new jobs get 503, `/readyz` too, streams end. Default: never. */
  isDraining: callback<() => boolean>('() => boolean').default(() => () => false),
  /** Rejects while the service is not ready. Default: that of `shaper.ready()`. */
  readiness: callback<() => Promise<void>>('() => Promise<void>').optional(),
  /** The text of `/metrics`. Default: there are none. */
  metrics: callback<() => Promise<MetricsText>>('() => Promise<MetricsText>').optional(),
  /** Is told of every error that was answered with 500. */
  onError: callback<(error: unknown, requestId: string) => void>('(error, requestId) => void').optional(),
  /** Is told of every answer. */
  onRequest: callback<(answered: Answered) => void>('(answered) => void').optional(),
  /**
   * Checks the data of every job before it is admitted. A job with a fault is refused with 422, since its handler would
   * always fail. Default: all JSON is accepted.
   */
  dataFault: callback<(data: unknown) => DataFault | undefined>('(data) => DataFault | undefined').optional(),
  /** Instead of the clock of this process, for the rates of tokens: microseconds. */
  now: callback<() => number>('() => number').optional(),
  /** Instead of watching the event loop: its lag in milliseconds. */
  lagMs: callback<() => number>('() => number').optional(),
  /** Instead of asking V8: the share of the heap that is in use. */
  heapShare: callback<() => number>('() => number').optional(),
})

export type HttpOptions = Omit<z.input<typeof httpOptionsSchema>, 'tokens'> & {
  readonly tokens?: readonly AccessToken[] | (() => readonly AccessToken[])
}
export type HttpSettings = Readonly<z.output<typeof httpOptionsSchema>>

function isMeter(value: unknown): boolean {
  const meter = value as Partial<Meter> | null | undefined
  return [meter?.fill, meter?.canAccept, meter?.level, meter?.drain].every(
    (verb) => typeof verb === 'function',
  )
}
