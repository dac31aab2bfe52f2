import type { Pace } from '../product.ts'

export interface HttpSetup {
  /** Of the Redis server that was started for this one measurement. */
  readonly socket: string
  readonly pace: Pace
}

/** A server that takes `POST /v1/buckets/{key}/jobs` with `{ data }`, and answers 202. */
export interface HttpProduct {
  readonly name: string
  /** What it does with a job. */
  setting(pace: Pace): string
  /** Serves in a process of its own, which ends with this one; resolves with where. */
  serve(setup: HttpSetup): Promise<string>
}
