import type { HandedJob } from '../verbs/handed-job.ts'

/** A job that was handed over: on its way to a worker, or with it. */
export interface Delivery extends HandedJob {
  readonly key: string
  readonly shard: number
}

/** Tells one delivery from every other; no two jobs can share a name, since an epoch holds digits alone. */
export function deliveryName({ id, epoch }: HandedJob): string {
  return `${id}_e${epoch}`
}

/** Carries jobs that were handed over to workers, at least once and in no reliable order; the gate decides what starts. */
export interface Transport {
  /** Resolves when the deliveries are stored; one that is handed twice is delivered at least once. */
  hand(shard: number, jobs: readonly Delivery[]): Promise<void>
  /** Removes those of the deliveries that no worker has fetched. */
  take(shard: number, deliveries: readonly HandedJob[]): Promise<void>
  /** Delivers to this process, as fast as it takes deliveries on. */
  receive(options: ReceiveOptions): Promise<Receiver>
  close(): Promise<void>
}

export interface ReceiveOptions {
  /** Resolves when the worker has taken it on: the transport forgets it then, and delivers others. */
  readonly onDelivery: (delivery: Delivery) => Promise<void>
  readonly onError: (error: Error) => void
}

export interface Receiver {
  /** No more deliveries; those under way go on. */
  stop(): Promise<void>
  /** Resolves when those under way have settled and nothing is connected. */
  close(): Promise<void>
}
