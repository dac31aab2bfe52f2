import type { JobsOptions, QueueOptions, WorkerOptions } from 'bullmq'

/** BullMQ's name of the queue; its prefix is the shard's hash tag, so all its keys lie where the shard's do. */
export const QUEUE = 'rope'

type Bare<T> = Omit<T, 'connection' | 'prefix'>

/** The server is probed elsewhere. The stream of events has no reader, and is cut to its last node. */
export const QUEUE_SETTINGS = {
  skipVersionCheck: true,
  streams: { events: { maxLen: 0 } },
} as const satisfies Bare<QueueOptions>

/** A delivery is tried once and leaves nothing behind: the line keeps the job and judges its attempts. */
export const DELIVERY_SETTINGS = {
  attempts: 1,
  removeOnComplete: true,
  removeOnFail: true,
} as const satisfies JobsOptions

export const WORKER_SETTINGS = {
  skipVersionCheck: true,
  // A delivery whose worker died is fetched again at most 15 s later, and then refused at the gate: this only cleans up.
  lockDuration: 10_000,
  stalledInterval: 5_000,
  // Two lost replies to a fetch count as two stalls, though no handler ever ran.
  maxStalledCount: Number.MAX_SAFE_INTEGER,
  // Seconds: how long a worker may sleep when the marker that should have woken it was lost with a connection.
  drainDelay: 2,
  runRetryDelay: 500,
} as const satisfies Bare<WorkerOptions>
