import type { LimitInput } from '../core/limit.ts'
import type { SettingPath } from './paths.ts'

/** Settings from the command line; absent if not given. */
export interface ConfigFlags {
  readonly listen?: string
  readonly redis?: string
  readonly name?: string
  readonly prefix?: string
  readonly shards?: number
  /** The limit of the pattern `*`. */
  readonly limit?: LimitInput
  /** Replaces all limits of the layers below. */
  readonly limits?: Readonly<Record<string, LimitInput>>
  /** Origins that jobs may call. */
  readonly allow?: readonly string[]
  /** Handlers that may run at once. */
  readonly concurrency?: number
  /** Whether this process may be elected scheduler. */
  readonly scheduler?: boolean
  /** Milliseconds. */
  readonly leaseMs?: number
  /** Milliseconds. */
  readonly drainMs?: number
  readonly logLevel?: string
  /** The file to which arrivals are recorded. */
  readonly record?: string
}

/** The format of a variable. */
export type VariableForm =
  | 'text'
  | 'number'
  /** `true` or `false`. */
  | 'boolean'
  /** Separated by commas. */
  | 'list'
  | 'json'
  /** The variable contains a secret: the setting refers to it instead of containing it. */
  | 'secret'

/** The names of a setting outside the file. */
export interface SettingName {
  readonly path: SettingPath
  /** The part after `VELVET_ROPE_`. */
  readonly variable: string
  readonly form: VariableForm
  readonly flag?: { readonly field: keyof ConfigFlags; readonly option: string }
}

/** In the order in which they are applied: the limit of `*` overrides the one in `limits`. */
export const SETTING_NAMES: readonly SettingName[] = [
  setting(['listen'], 'LISTEN', 'text', 'listen', '--listen'),
  setting(['redis'], 'REDIS', 'text', 'redis', '--redis'),
  setting(['name'], 'NAME', 'text', 'name', '--name'),
  setting(['prefix'], 'PREFIX', 'text', 'prefix', '--prefix'),
  setting(['shards'], 'SHARDS', 'number', 'shards', '--shards'),
  setting(['limits'], 'LIMITS', 'json', 'limits', '--limits'),
  setting(['limits', '*'], 'LIMIT', 'text', 'limit', '--limit'),
  setting(['forward', 'allow'], 'ALLOW', 'list', 'allow', '--allow'),
  setting(['forward', 'allowPrivate'], 'ALLOW_PRIVATE', 'list'),
  setting(['forward', 'headers'], 'HEADERS', 'json'),
  setting(['forward', 'signing', 'secret'], 'SIGNING_SECRET', 'secret'),
  setting(['forward', 'timeoutMs'], 'TIMEOUT_MS', 'number'),
  setting(['forward', 'maxTimeoutMs'], 'MAX_TIMEOUT_MS', 'number'),
  setting(['forward', 'maxResponseBytes'], 'MAX_RESPONSE_BYTES', 'number'),
  setting(['forward', 'freezeMs'], 'FREEZE_MS', 'number'),
  setting(['forward', 'settle'], 'SETTLE', 'json'),
  setting(['tokens'], 'TOKENS', 'json'),
  setting(['http', 'bodyLimitBytes'], 'BODY_LIMIT_BYTES', 'number'),
  setting(['http', 'batchLimitBytes'], 'BATCH_LIMIT_BYTES', 'number'),
  setting(['http', 'maxBatch'], 'MAX_BATCH', 'number'),
  setting(['http', 'maxValues'], 'MAX_VALUES', 'number'),
  setting(['http', 'corsOrigins'], 'CORS_ORIGINS', 'list'),
  setting(['http', 'overload', 'maxLagMs'], 'MAX_LAG_MS', 'number'),
  setting(['http', 'overload', 'maxInFlight'], 'MAX_IN_FLIGHT', 'number'),
  setting(['http', 'overload', 'maxTokenShare'], 'MAX_TOKEN_SHARE', 'number'),
  setting(['http', 'overload', 'maxHeapShare'], 'MAX_HEAP_SHARE', 'number'),
  setting(['http', 'overload', 'heapReserveMb'], 'HEAP_RESERVE_MB', 'number'),
  setting(['http', 'overload', 'maxSegmentShare'], 'MAX_SEGMENT_SHARE', 'number'),
  setting(['http', 'maxRules'], 'MAX_RULES', 'number'),
  setting(['http', 'maxStreams'], 'MAX_STREAMS', 'number'),
  setting(['http', 'maxStreamsPerToken'], 'MAX_STREAMS_PER_TOKEN', 'number'),
  setting(['http', 'maxWatchedPerToken'], 'MAX_WATCHED_PER_TOKEN', 'number'),
  setting(['http', 'maxConnections'], 'MAX_CONNECTIONS', 'number'),
  setting(['http', 'maxConnectionsPerAddress'], 'MAX_CONNECTIONS_PER_ADDRESS', 'number'),
  setting(['http', 'keepAliveMs'], 'KEEP_ALIVE_MS', 'number'),
  setting(['http', 'snapshotMs'], 'SNAPSHOT_MS', 'number'),
  setting(['jobDefaults', 'attempts'], 'JOB_ATTEMPTS', 'number'),
  setting(['jobDefaults', 'backoff'], 'JOB_BACKOFF', 'json'),
  setting(['jobDefaults', 'timeoutMs'], 'JOB_TIMEOUT_MS', 'number'),
  setting(['jobDefaults', 'keepFinished'], 'KEEP_FINISHED', 'number'),
  setting(['jobDefaults', 'keepFinishedMs'], 'KEEP_FINISHED_MS', 'number'),
  setting(['jobDefaults', 'keepFinishedAtMost'], 'KEEP_FINISHED_AT_MOST', 'number'),
  setting(['work', 'concurrency'], 'CONCURRENCY', 'number', 'concurrency', '--concurrency'),
  setting(['work', 'scheduler'], 'SCHEDULER', 'boolean', 'scheduler', '--no-scheduler'),
  setting(['work', 'maxFreezeMs'], 'MAX_FREEZE_MS', 'number'),
  setting(['work', 'maxTimeoutMs'], 'MAX_JOB_TIMEOUT_MS', 'number'),
  setting(['work', 'leaseMs'], 'LEASE_MS', 'number', 'leaseMs', '--lease'),
  setting(['drainMs'], 'DRAIN_MS', 'number', 'drainMs', '--drain-ms'),
  setting(['log', 'level'], 'LOG_LEVEL', 'text', 'logLevel', '--log-level'),
  setting(['record'], 'RECORD', 'text', 'record', '--record'),
]

function setting(
  path: SettingPath,
  variable: string,
  form: VariableForm,
  field?: keyof ConfigFlags,
  option = '',
): SettingName {
  return { path, variable, form, ...(field !== undefined && { flag: { field, option } }) }
}
