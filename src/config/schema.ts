import { z } from 'zod'
import { InvalidKeyError, isVelvetRopeError } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import type { LimitInput } from '../core/limit.ts'
import { formatLimit } from '../core/limit-format.ts'
import { parseRule } from '../core/rule-book.ts'
import { forwardSettingsSchema } from '../forward/settings.ts'
import { accessTokenSchema } from '../http/access.ts'
import { serveOptionsSchema } from '../http/server-options.ts'
import { httpOptionsSchema } from '../http/settings.ts'
import { jobDefaultsSchema, workOptionsSchema } from '../line/options.ts'
import { readConnectionUrl } from '../redis/connection/connection-url.ts'
import { shaperOptionsSchema } from '../shaper/options.ts'
import { logLevelSchema } from '../telemetry/log.ts'
import { forwardFaults } from './forward-faults.ts'
import { parseListen } from './listen.ts'
import { isMapping } from './paths.ts'

/** Marks the message of an issue as a full sentence, which needs no "expected ... to be" around it. */
const SENTENCE = { isSentence: true } as const

const DAY_MS = 86_400_000

const ADDRESS = "host:port, such as 127.0.0.1:7077 or '[::1]:7077'"

const listen = z.string(ADDRESS).transform((text, context) => {
  const address = parseListen(text)
  if (address !== undefined) return address
  context.addIssue({ code: 'custom', message: ADDRESS })
  return z.NEVER
})

const redis = z.string('a Redis URL, such as redis://127.0.0.1:6379').superRefine((text, context) => {
  const complain = (message: string) => context.addIssue({ code: 'custom', message, params: SENTENCE })
  if (text.includes('${')) {
    complain(
      `expected redis to be a URL without \${NAME}, got: one with it; set VELVET_ROPE_REDIS to the whole URL instead`,
    )
    return
  }
  try {
    readConnectionUrl(text)
  } catch (error) {
    if (!isVelvetRopeError(error)) throw error
    complain(error.message.replace(/^connection/, 'redis'))
  }
})

const name = z.string().superRefine((text, context) => {
  try {
    checkKey(text, 'name of the shaper')
  } catch (error) {
    if (!isVelvetRopeError(error)) throw error
    context.addIssue({ code: 'custom', message: error.message, params: SENTENCE })
  }
})

/** Reports every invalid limit. Limits become text in one form, so that equal ones are equal. */
const limits = z
  .custom<Readonly<Record<string, unknown>>>(isMapping, {
    error: "a mapping of pattern and limit, such as '*': 100, 10/s",
  })
  .transform((given, context) => {
    const read: [string, string][] = []
    for (const [pattern, limit] of Object.entries(given)) {
      try {
        read.push([pattern, formatLimit(parseRule(pattern, limit as LimitInput).limit)])
      } catch (error) {
        if (!isVelvetRopeError(error)) throw error
        const params = { ...SENTENCE, isAboutName: error instanceof InvalidKeyError }
        context.addIssue({ code: 'custom', path: [pattern], message: error.message, params })
      }
    }
    return Object.fromEntries(read)
  })

const tokens = z.array(accessTokenSchema).superRefine((given, context) => {
  const seen = new Set<string>()
  given.forEach(({ sha256 }, index) => {
    // It would be unclear which of the two clients it is.
    if (seen.has(sha256)) {
      const message = 'expected each token to have a sha256 of its own, got: that of an earlier token'
      context.addIssue({ code: 'custom', path: [index, 'sha256'], message, params: SENTENCE })
    }
    seen.add(sha256)
  })
})

const forward = forwardSettingsSchema.superRefine((settings, context) => {
  for (const { path, isAboutName, message } of forwardFaults(settings)) {
    context.addIssue({ code: 'custom', path: [...path], message, params: { ...SENTENCE, isAboutName } })
  }
})

const { maxConnections, maxConnectionsPerAddress } = serveOptionsSchema.shape

/** The options of the HTTP API and its server that a file can contain; the others are functions. */
const httpSettingsSchema = httpOptionsSchema
  .pick({
    bodyLimitBytes: true,
    batchLimitBytes: true,
    maxBatch: true,
    maxValues: true,
    corsOrigins: true,
    overload: true,
    maxRules: true,
    maxStreams: true,
    maxStreamsPerToken: true,
    maxWatchedPerToken: true,
    keepAliveMs: true,
    snapshotMs: true,
  })
  .extend({ maxConnections, maxConnectionsPerAddress })

const workSettingsSchema = workOptionsSchema.extend({
  /**
   * The longest time limit that a job may bring, in milliseconds; up to `jobDefaults.timeoutMs` where that is longer. A handler
   * that does not end keeps its place for as long. Default: 600,000, ten minutes.
   */
  maxTimeoutMs: workOptionsSchema.shape.maxTimeoutMs.unwrap().default(600_000),
})

const logSettingsSchema = z.strictObject({
  /** The lowest level that is logged. Default: info. */
  level: logLevelSchema.default('info'),
})

/** The settings of `velvet-rope.yaml`; the other layers use other names for the same settings. */
export const configSchema = z.strictObject({
  /** Address of the HTTP server, `host:port`. Default: 127.0.0.1:7077. */
  listen: listen.prefault('127.0.0.1:7077'),
  /** URL of the Redis server. Default: jobs wait in the memory of this process. */
  redis: redis.optional(),
  /** The name of the shaper. Default: main. */
  name: name.default('main'),
  /** Prefix of every key in Redis. Only with `redis`. Default: see `ShaperOptions.prefix`. */
  prefix: shaperOptionsSchema.shape.prefix,
  /**
   * Number of shards: slots of a Redis Cluster over which the lines are spread. Only with `redis`. Default: see
   * `ShaperOptions.shards`.
   */
  shards: shaperOptionsSchema.shape.shards,
  /** Limits by pattern. Default: none, so every key is rejected. */
  limits: limits.prefault({}),
  /** Which requests may be forwarded. Default: none are. */
  forward: forward.optional(),
  /** Tokens for the API. Default: none is needed, and the server listens on loopback only. */
  tokens: tokens.default([]),
  http: httpSettingsSchema.prefault({}),
  jobDefaults: jobDefaultsSchema.prefault({}),
  work: workSettingsSchema.prefault({}),
  /**
   * The file to which every arrival at the API is recorded, for `simulate`; relative to the working folder. Default:
   * none.
   */
  record: z.string().min(1, 'the name of a file, such as arrivals.csv').optional(),
  /** How long running handlers may take to end when the process is stopped, in milliseconds. Default: 25,000. */
  drainMs: z.number().min(0).max(DAY_MS).default(25_000),
  log: logSettingsSchema.prefault({}),
})

/** The merged, valid settings. */
export type Settings = Readonly<z.output<typeof configSchema>>
