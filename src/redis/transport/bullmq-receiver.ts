import { ConnectionClosedError, ErrorCode, type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { toError } from '../../core/thrown.ts'
import { settlesWithin } from '../../core/within.ts'
import { ClientWaits } from '../connection/client-waits.ts'
import { OutageReports } from '../connection/outage-reports.ts'
import { QUEUE, WORKER_SETTINGS } from './bullmq-settings.ts'
import { readRecord } from './delivery-record.ts'
import type { Delivery, ReceiveOptions, Receiver } from './transport.ts'

/**
 * The deliveries fetched at a time. BullMQ runs the first only when it has fetched as many as may run at once, or all there are;
 * a delivery is taken on at once, so a few are enough to keep the stream going.
 */
const FETCHERS = 4
/**
 * After an outage of a cluster a BullMQ worker may wait for ever. A worker that has fetched nothing from one look to the next,
 * though there is something to fetch, is replaced.
 */
const LOOK_EVERY_MS = 5_000

/** A worker of BullMQ whose timer can be ended by itself. */
class LockingWorker extends Worker<unknown, void> {
  /** `close` ends it last: never, where a connection was lost when it was called. The timer would keep the process alive. */
  endRenewals(): Promise<void> {
    return this.lockManager.close()
  }

  /** Where Redis refuses a look for stalled deliveries, BullMQ waits for five seconds by default, which `close` does not end. */
  protected override checkConnectionError<Result>(
    look: () => Promise<Result>,
    delayMs: number = WORKER_SETTINGS.runRetryDelay,
  ) {
    return super.checkConnectionError(look, delayMs)
  }
}

/** A worker of BullMQ, and the copies of the client on which it waits for something to fetch. */
interface Fetcher {
  readonly worker: LockingWorker
  readonly copies: readonly (Redis | Cluster)[]
  readonly waits: ClientWaits
}

/** How long `close` waits for deliveries under way, and then for the connections. */
export interface Grace {
  readonly deliveriesMs: number
  readonly connectionsMs: number
}

/**
 * Receives from one BullMQ queue for each shard. BullMQ's locks and its counting of stalls only clean up after workers that died:
 * the line has leases of its own, and the gate refuses what comes twice.
 */
export class BullMqReceiver implements Receiver {
  readonly #client: Redis | Cluster
  readonly #duplicate: (...options: never[]) => Redis | Cluster
  readonly #tags: readonly string[]
  readonly #outages: OutageReports
  /** One of each shard. */
  readonly #fetchers: Fetcher[]
  /** Shards that had something to fetch at the last look, and from which nothing has come since. */
  readonly #neglected = new Set<number>()
  readonly #looks: NodeJS.Timeout
  readonly #onDelivery: (delivery: Delivery) => Promise<void>
  readonly #onError: (error: Error) => void
  readonly #grace: Grace
  readonly #underWay = new Set<Promise<unknown>>()
  #isStopped = false
  #closing: Promise<void> | undefined

  /** @param client becomes the receiver's own, which ends it */
  constructor(client: Redis | Cluster, tags: readonly string[], options: ReceiveOptions, grace: Grace) {
    this.#client = client
    this.#onDelivery = options.onDelivery
    this.#onError = options.onError
    this.#grace = grace
    this.#tags = tags
    this.#outages = new OutageReports(options.onError)
    client.on('error', this.#outages.report)
    client.on('ready', this.#outages.over)
    this.#duplicate = client.duplicate.bind(client)
    this.#fetchers = tags.map((_, shard) => this.#open(shard))
    this.#looks = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  #open(shard: number): Fetcher {
    const connection = this.#client
    const copies: (Redis | Cluster)[] = []
    const waits = new ClientWaits()
    // BullMQ copies it in the constructor of the worker.
    const duplicate = (...options: never[]) => {
      const copy = this.#duplicate(...options)
      copies.push(copy)
      const wait = copy.bzpopmin.bind(copy) as (...what: never[]) => Promise<unknown>
      return Object.assign(copy, { bzpopmin: (...what: never[]) => waits.add(wait(...what)) })
    }
    Object.assign(connection, { duplicate })
    const settings = { ...WORKER_SETTINGS, connection, prefix: this.#tags[shard]!, concurrency: FETCHERS }
    const process = (job: Job<unknown, void>, token: string | undefined) => this.#process(shard, job, token)
    const worker = new LockingWorker(QUEUE, process, settings).on('error', (error) => {
      if (!isOfTakenDelivery(error)) this.#outages.report(error)
    })
    return { worker, copies, waits }
  }

  async #look(): Promise<void> {
    for (const [shard, tag] of this.#tags.entries()) {
      const waiting = await this.#client.llen(`${tag}:${QUEUE}:wait`).catch(() => 0)
      const isBusy = this.#underWay.size >= FETCHERS
      if (waiting === 0 || isBusy || this.#isStopped) this.#neglected.delete(shard)
      else if (this.#neglected.has(shard)) this.#replace(shard)
      else this.#neglected.add(shard)
    }
  }

  #replace(shard: number): void {
    this.#neglected.delete(shard)
    const stuck = this.#fetchers[shard]!
    this.#fetchers[shard] = this.#open(shard)
    stuck.worker.close(true).catch(this.#outages.report)
    endForGood(stuck)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#looks)
    await Promise.all(this.#fetchers.map(({ worker }) => worker.pause(true)))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.stop()
    const isIdle = await settlesWithin(this.#grace.deliveriesMs, Promise.allSettled(this.#underWay))
    // A close of BullMQ's that waits cannot be cut short by another that does not.
    const closing = Promise.allSettled(this.#fetchers.map(({ worker }) => worker.close(!isIdle)))
    const isClosed = await settlesWithin(this.#grace.connectionsMs, closing)
    if (isClosed) await this.#wakeOthers()
    else for (const { worker } of this.#fetchers) void worker.endRenewals()
    for (const fetcher of this.#fetchers) endForGood(fetcher)
    this.#client.disconnect()
  }

  /**
   * Leaves a marker where there is something to fetch: the marker that wakes one worker may have been on its way to one of this
   * process when its connection was closed, and other workers would wait until they look by themselves.
   */
  async #wakeOthers(): Promise<void> {
    const calls = this.#tags.map(async (tag) => {
      const waiting = await this.#client.llen(`${tag}:${QUEUE}:wait`)
      if (waiting > 0) await this.#client.zadd(`${tag}:${QUEUE}:marker`, 0, '0')
    })
    await settlesWithin(this.#grace.connectionsMs, Promise.allSettled(calls))
  }

  async #process(shard: number, job: Job<unknown, void>, token: string | undefined): Promise<void> {
    if (this.#isStopped) {
      // It was fetched while the receiver stopped: back to the head of the queue.
      await job.moveToWait(token)
      throw new WaitingError()
    }
    this.#neglected.delete(shard)
    const deliveries = this.#read(shard, job)
    const work = Promise.all(deliveries.map((delivery) => this.#deliver(delivery)))
    this.#underWay.add(work)
    await work
    this.#underWay.delete(work)
  }

  /**
   * What cannot be read goes to BullMQ's failed jobs with the reason, whatever its options say. It stays there for its owner, or
   * for a process that knows its version: it is neither lost nor fetched again.
   */
  #read(shard: number, job: Job<unknown, void>): Delivery[] {
    try {
      return readRecord(job.data, shard, job.id ?? '')
    } catch (thrown) {
      const error = toError(thrown)
      this.#onError(error)
      job.opts.removeOnFail = false
      throw new UnrecoverableError(error.message)
    }
  }

  async #deliver(delivery: Delivery): Promise<void> {
    try {
      await this.#onDelivery(delivery)
    } catch (thrown) {
      this.#onError(toError(thrown))
    }
  }
}

/** The errors with which BullMQ refuses the end of a delivery. */
const OF_TAKEN: ReadonlySet<unknown> = new Set([
  ErrorCode.JobNotExist,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobLockMismatch,
])

/**
 * Whether a delivery is not this worker's any more. Its end was reported before, and the answer was lost; or its lock ended; or Redis was
 * restarted without the fetch, so that BullMQ delivered it again. The gate alone decides what starts, so such an error calls for nothing.
 */
function isOfTakenDelivery(thrown: unknown): boolean {
  const error = toError(thrown)
  return OF_TAKEN.has(Reflect.get(error, 'code')) || error.message.startsWith('could not renew lock for job ')
}

/**
 * Ends the copies, also where one waits for an answer of a Redis that is away. A worker that lost its connection while it waited
 * connects again even after it was closed.
 */
function endForGood({ copies, waits }: Fetcher): void {
  for (const copy of copies) {
    copy.on('connecting', () => copy.disconnect())
    if (copy.status !== 'end') copy.disconnect()
  }
  // Else the timer with which BullMQ watches a wait would keep the process alive, for eleven seconds.
  waits.fail(new ConnectionClosedError())
}
