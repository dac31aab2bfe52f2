import { z } from 'zod'
import { InvalidKeyError, isVelvetRopeError } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import { formatLimit, type LimitInput } from '../core/limit.ts'
import { parseRule } from '../core/rule-book.ts'
import { forwardSettingsSchema } from '../forward/settings.ts'
import { accessTokenSchema } from '../http/access.ts'
import { httpOptionsSchema } from '../http/settings.ts'
import { jobDefaultsSchema, workOptionsSchema } from '../line/options.ts'
import { readConnectionUrl } from '../redis/connection/connection-url.ts'
import { shaperOptionsSchema } from '../shaper/options.ts'
import { logLevelSchema } from '../telemetry/log.ts'
import { forwardFaults } from './forward-faults.ts'
import { parseListen } from './listen.ts'
import { isMapping } from './paths.ts'

/** Marks the message of an issue as a whole sentence, which needs no "expected ... to be" around it. */
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

/** Every limit that is wrong is told; each comes out as text, so that equal ones look equal. */
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
    // Which of the two holders would it be?
    if (seen.has(sha256)) {
      const message = 'expected each token to have a sha256 of its own, got: that of a token before it'
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

/** What of the HTTP API can be said in a file; the rest are functions. */
const httpSettingsSchema = httpOptionsSchema.pick({
  bodyLimitBytes: true,
  batchLimitBytes: true,
  maxBatch: true,
  corsOrigins: true,
  overload: true,
  maxStreams: true,
  keepAliveMs: true,
  snapshotMs: true,
})

const logSettingsSchema = z.strictObject({
  /** What is told at least. Default: info. */
  level: logLevelSchema.default('info'),
})

/** What `velvet-rope.yaml` may say; the other layers say the same things by other names. */
export const configSchema = z.strictObject({
  /** Where the HTTP server listens, `host:port`. Default: 127.0.0.1:7077. */
  listen: listen.prefault('127.0.0.1:7077'),
  /** The Redis of the shared line. Default: the lines are in the memory of this process. */
  redis: redis.optional(),
  /** The name of the shaper. Default: main. */
  name: name.default('main'),
  /** Begins every key of Redis. Only with `redis`. */
  prefix: shaperOptionsSchema.shape.prefix,
  /** Over how many slots of a Redis Cluster the lines are spread. Only with `redis`. */
  shards: shaperOptionsSchema.shape.shards,
  /** Limits by pattern. Default: none, so every key is refused. */
  limits: limits.prefault({}),
  /** What jobs that are requests may call. Default: they are not forwarded. */
  forward: forward.optional(),
  /** Who may call the API. Default: nobody needs a token, and the server listens on loopback only. */
  tokens: tokens.default([]),
  http: httpSettingsSchema.prefault({}),
  jobDefaults: jobDefaultsSchema.prefault({}),
  work: workOptionsSchema.prefault({}),
  /** The file that every arrival at the API is written to, for `simulate`; from the working folder. Default: none. */
  record: z.string().min(1, 'the name of a file, such as arrivals.csv').optional(),
  /** How long handlers that run may take to end when the process is told to stop. Default: 25 s. */
  drainMs: z.number().min(0).max(DAY_MS).default(25_000),
  log: logSettingsSchema.prefault({}),
})

/** What all layers together say. */
export type Settings = Readonly<z.output<typeof configSchema>>
