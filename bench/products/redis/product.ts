import type { Pace, Payload, Start } from '../product.ts'

/** Where the lines are, how fast they run, and which keys take part. */
export interface Setup {
  readonly socket: string
  readonly pace: Pace
  readonly keys: readonly string[]
}

export type Handed = readonly [key: string, data: Payload]

/** The side that hands jobs over. Both resolve when Redis has answered. */
export interface Producer {
  enqueue(key: string, data: Payload): Promise<unknown>
  /** Many in one call, where the product has such a call. */
  enqueueMany?(jobs: readonly Handed[]): Promise<unknown>
  /** Buckets that the product says are alive. */
  liveBuckets?(): Promise<number>
}

/** A product whose lines, or at least whose counts, are in Redis. */
export interface RedisProduct {
  readonly name: string
  /** How it was configured, as its users would write it. */
  setting(pace: Pace): string
  /** A product that cannot pass jobs to another process calls `start` here, in the process that produces. */
  produce(setup: Setup, start: Start): Promise<Producer>
  /** Runs the handlers of jobs that any process produced. Absent: `produce` runs them. */
  work?(setup: Setup, start: Start): Promise<void>
}
