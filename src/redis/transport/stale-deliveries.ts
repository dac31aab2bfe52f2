import type { Job, Queue } from 'bullmq'
import { wallClockMs } from '../../core/clock.ts'
import type { HandedJob } from '../verbs/handed-job.ts'
import { readRecord } from './delivery-record.ts'
import type { Delivery } from './transport.ts'

/** The most bundles to look at in one sweep. */
const MOST = 200
/** Milliseconds. By then a job that no worker fetched loses its lease. */
const OLD = 2_000

/** Whether each job is still handed over under its epoch; one that is not never is again. */
export type AreHanded = (jobs: readonly HandedJob[]) => Promise<boolean[]>

type Ask = <Answer>(question: (queue: Queue) => Promise<Answer>) => Promise<Answer>

/**
 * Removes deliveries of one shard that no worker fetched and no job needs, because it ended, came back to its line or was handed
 * over again. Workers drop these by themselves, so nothing is done while they fetch: while the oldest delivery is a new one.
 */
export class StaleDeliveries {
  readonly #shard: number
  readonly #ask: Ask
  readonly #now: () => number

  /** @param now milliseconds since the epoch */
  constructor(shard: number, ask: Ask, now = wallClockMs) {
    this.#shard = shard
    this.#ask = ask
    this.#now = now
  }

  /** Looks at the oldest 200 bundles; returns how many it removed. */
  async sweep(areHanded: AreHanded): Promise<number> {
    const [oldest] = await this.#ask((queue) => queue.getWaiting(0, 0))
    // One from the future was handed over by a process whose clock is ahead: to look costs little.
    if (oldest === undefined || Math.abs(this.#now() - oldest.timestamp) < OLD) return 0
    const stale = await this.#find(areHanded)
    // A bundle that a worker has fetched meanwhile stays where it is; `remove` does not throw.
    await this.#ask((queue) => Promise.all(stale.map((name) => queue.remove(name))))
    return stale.length
  }

  async #find(areHanded: AreHanded): Promise<string[]> {
    const bundles = (await this.#ask((queue) => queue.getWaiting(0, MOST - 1))).flatMap((job) => {
      const deliveries = this.#read(job)
      return deliveries.length > 0 ? [{ name: job.id!, deliveries }] : []
    })
    const jobs = bundles.flatMap(({ deliveries }) => deliveries)
    const handed = new Set<HandedJob>()
    for (let from = 0; from < jobs.length; from += MOST) {
      const some = jobs.slice(from, from + MOST)
      for (const [index, isHanded] of (await areHanded(some)).entries()) {
        if (isHanded) handed.add(some[index]!)
      }
    }
    return bundles
      .filter(({ deliveries }) => !deliveries.some((job) => handed.has(job)))
      .map(({ name }) => name)
  }

  /** Empty where the record cannot be read: a worker sets that aside. */
  #read(job: Job): Delivery[] {
    try {
      return readRecord(job.data, this.#shard, job.id ?? '')
    } catch {
      return []
    }
  }
}
