import type { HandedJob } from '../verbs/handed-job.ts'

/** A job that was handed over, on its way to a worker or with it. */
export interface Delivery extends HandedJob {
  readonly key: string
  readonly shard: number
}

/** Tells one delivery from every other; no two jobs can share a name, since an epoch holds digits alone. */
export function deliveryName({ id, epoch }: HandedJob): string {
  return `${id}_e${epoch}`
}

/** Brings handed jobs to workers, at least once, in no order to rely on; the gate decides what starts. */
export interface Transport {
  /** Resolves when the jobs are kept; what is handed twice is delivered at least once. */
  hand(shard: number, jobs: readonly Delivery[]): Promise<void>
  /** Removes those that nobody fetched. */
  take(shard: number, deliveries: readonly HandedJob[]): Promise<void>
  /** Delivers to this process, as fast as it takes on. */
  receive(options: ReceiveOptions): Promise<Receiver>
  close(): Promise<void>
}

export interface ReceiveOptions {
  /** Settles when the worker has taken it on: the transport forgets it then, and brings others. */
  readonly onDelivery: (delivery: Delivery) => Promise<void>
  readonly onError: (error: Error) => void
}

export interface Receiver {
  /** No more deliveries; those under way go on. */
  stop(): Promise<void>
  /** Resolves when those under way have settled and nothing is connected. */
  close(): Promise<void>
}
