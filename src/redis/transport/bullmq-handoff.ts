import { Queue } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { quote } from '../../core/describe.ts'
import { BackendUnavailableError } from '../../core/errors.ts'
import { messageOf, toError } from '../../core/thrown.ts'
import { settlesWithin } from '../../core/within.ts'
import { OutageReports } from '../connection/outage-reports.ts'
import type { HandedJob } from '../verbs/handed-job.ts'
import { BullMqReceiver } from './bullmq-receiver.ts'
import { DELIVERY_SETTINGS, QUEUE, QUEUE_SETTINGS } from './bullmq-settings.ts'
import { deliveryId, recordOf } from './delivery-record.ts'
import { type AreHanded, StaleDeliveries } from './stale-deliveries.ts'
import type { Delivery, ReceiveOptions, Transport } from './transport.ts'

export interface BullMqHandoffOptions {
  /** One for each shard: its hash tag, such as `{vr:sms:0}`, under which BullMQ keeps its keys. */
  readonly tags: readonly string[]
  /** Makes a client that waits for Redis as long as it takes; this class ends the clients that it opens. */
  readonly open: () => Redis | Cluster
  readonly onError: (error: Error) => void
  /** How long an answer of Redis may take, and how long closing waits for it; 2 s by default. */
  readonly answerWithinMs?: number
  /** How long closing waits for deliveries under way; 5 s by default. */
  readonly graceMs?: number
  /** Milliseconds since the epoch; `wallClockMs` by default. */
  readonly now?: () => number
}

/** The most of BullMQ's jobs in one write. */
const LARGEST_CHUNK = 200
/**
 * Of many jobs that are due together, several travel as one job of BullMQ's, since carrying each by itself would cost more than
 * all the rest. Bundles are small and many enough to spread over the workers.
 */
const BUNDLES = 32
export const LARGEST_BUNDLE = 8

/**
 * Carries jobs through BullMQ, which is only a transport here: it neither paces nor retries nor decides. Each delivery has a
 * name of its own, so that one from an earlier handover is refused at the gate. A bundle has the name of its first delivery.
 */
export class BullMqHandoff implements Transport {
  readonly #tags: readonly string[]
  readonly #open: () => Redis | Cluster
  readonly #outages: OutageReports
  readonly #answerWithinMs: number
  readonly #graceMs: number
  readonly #queues = new Map<number, Queue>()
  readonly #stale: readonly StaleDeliveries[]
  readonly #receivers = new Set<BullMqReceiver>()
  #client: Redis | Cluster | undefined
  #closing: Promise<void> | undefined

  constructor(options: BullMqHandoffOptions) {
    this.#tags = options.tags
    this.#open = options.open
    this.#outages = new OutageReports(options.onError)
    this.#answerWithinMs = options.answerWithinMs ?? 2_000
    this.#graceMs = options.graceMs ?? 5_000
    this.#stale = options.tags.map(
      (_, shard) => new StaleDeliveries(shard, (question) => this.#ask(shard, question), options.now),
    )
  }

  /** @throws BackendUnavailableError; some or all of the jobs may be kept nevertheless */
  async hand(shard: number, jobs: readonly Delivery[]): Promise<void> {
    const bundles = bundled(jobs)
    for (let from = 0; from < bundles.length; from += LARGEST_CHUNK) {
      const bulk = bundles.slice(from, from + LARGEST_CHUNK).map((bundle) => ({
        name: 'job',
        data: recordOf(bundle),
        opts: { ...DELIVERY_SETTINGS, jobId: deliveryId(bundle[0]!) },
      }))
      await this.#ask(shard, (queue) => queue.addBulk(bulk))
    }
  }

  /** @throws BackendUnavailableError */
  async take(shard: number, deliveries: readonly HandedJob[]): Promise<void> {
    for (let from = 0; from < deliveries.length; from += LARGEST_CHUNK) {
      const chunk = deliveries.slice(from, from + LARGEST_CHUNK)
      // A delivery that a worker holds stays where it is; `remove` does not throw.
      await this.#ask(shard, (queue) => Promise.all(chunk.map((job) => queue.remove(deliveryId(job)))))
    }
  }

  /** How many bundles were handed and not fetched. @throws BackendUnavailableError */
  unfetched(shard: number): Promise<number> {
    return this.#ask(shard, (queue) => queue.getWaitingCount())
  }

  /**
   * Removes some deliveries that no worker fetched and no job needs any more; returns how many. It does nothing while the oldest
   * delivery was handed over less than two seconds ago. @throws BackendUnavailableError
   */
  sweep(shard: number, areHanded: AreHanded): Promise<number> {
    return this.#stale[shard]!.sweep(areHanded)
  }

  async receive(options: ReceiveOptions): Promise<BullMqReceiver> {
    this.#refuseWhenClosed()
    const receiver = new BullMqReceiver(this.#open(), this.#tags, options, {
      deliveriesMs: this.#graceMs,
      connectionsMs: this.#answerWithinMs,
    })
    this.#receivers.add(receiver)
    return receiver
  }

  /** Closes its receivers too. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#receivers].map((receiver) => receiver.close()))
    const closing = Promise.allSettled([...this.#queues.values()].map((queue) => queue.close()))
    await settlesWithin(this.#answerWithinMs, closing)
    this.#client?.disconnect()
  }

  /** Bounds the wait for an answer: BullMQ's client waits for Redis for ever, and keeps its commands. */
  async #ask<T>(shard: number, question: (queue: Queue) => Promise<T>): Promise<T> {
    this.#refuseWhenClosed()
    const queue = this.#queue(shard)
    const client = this.#connected()
    if (client.status !== 'ready') await this.#becomesReady(client)
    const answer = question(queue)
    if (!(await settlesWithin(this.#answerWithinMs, answer))) throw this.#isAway()
    try {
      return await answer
    } catch (thrown) {
      // Errors of the client carry the command and its arguments.
      throw new BackendUnavailableError(`BullMQ failed: ${quote(messageOf(toError(thrown)))}`)
    }
  }

  async #becomesReady(client: Redis | Cluster): Promise<void> {
    let onReady: (() => void) | undefined
    const ready = new Promise<void>((resolve) => {
      onReady = resolve
      client.once('ready', onReady)
    })
    const isReady = await settlesWithin(this.#answerWithinMs, ready)
    if (onReady !== undefined) client.off('ready', onReady)
    if (!isReady) throw this.#isAway()
  }

  #isAway(): BackendUnavailableError {
    return new BackendUnavailableError(`Redis did not answer BullMQ within ${this.#answerWithinMs} ms`)
  }

  #refuseWhenClosed(): void {
    if (this.#closing !== undefined) throw new BackendUnavailableError('the connection of BullMQ was closed')
  }

  #connected(): Redis | Cluster {
    if (this.#client === undefined) {
      this.#client = this.#open()
      this.#client.on('error', this.#outages.report)
      this.#client.on('ready', this.#outages.over)
    }
    return this.#client
  }

  #queue(shard: number): Queue {
    let queue = this.#queues.get(shard)
    if (queue === undefined) {
      const settings = { ...QUEUE_SETTINGS, connection: this.#connected(), prefix: this.#tags[shard]! }
      queue = new Queue(QUEUE, settings).on('error', this.#outages.report)
      this.#queues.set(shard, queue)
    }
    return queue
  }
}

function bundled(jobs: readonly Delivery[]): Delivery[][] {
  const size = Math.min(LARGEST_BUNDLE, Math.ceil(jobs.length / BUNDLES))
  const bundles: Delivery[][] = []
  for (let from = 0; from < jobs.length; from += size) bundles.push(jobs.slice(from, from + size))
  return bundles
}
