import type { Audit } from '../../conformance/history.ts'
import type { BucketView, Durability, JobView } from '../../core/job.ts'
import { firstFound } from '../scripts/first-found.ts'
import { auditReply, inspectReply, jobReply, listReply, viewsReply } from '../scripts/replies.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { bucketView, jobView } from '../verbs/job-answers.ts'

const auditScript = defineScript('audit', import.meta.url, auditReply)
const inspectScript = defineScript('inspect', import.meta.url, inspectReply)
const jobScript = defineScript('job', import.meta.url, jobReply)
const listScript = defineScript('list', import.meta.url, listReply)
const viewsScript = defineScript('views', import.meta.url, viewsReply)

/** Read in one call, which ends before when there is much to read. */
const MOST_VIEWS = 100

/** What can be seen of lines and jobs; none of it writes. */
export class Views {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** An id does not tell its shard, so all are asked. */
  async job(id: string, now?: number): Promise<JobView | undefined> {
    const asked = this.#store.tags.map(async (_, shard) => {
      const reply = await this.#store.read(jobScript, shard, [id], now)
      return jobView(id, reply)
    })
    return firstFound(asked)
  }

  async inspect(
    shard: number,
    key: string,
    durability: Durability,
    now?: number,
  ): Promise<BucketView | undefined> {
    const [at, reply] = await this.#store.read(inspectScript, shard, [key], now)
    return reply === undefined ? undefined : bucketView(reply, at, durability)
  }

  /** Of these keys of a shard, those that are live. */
  async of(
    shard: number,
    keys: readonly string[],
    durability: Durability,
    now?: number,
  ): Promise<BucketView[]> {
    const found: BucketView[] = []
    let from = 0
    while (from < keys.length) {
      const some = keys.slice(from, from + MOST_VIEWS)
      const reply = await this.#store.read(viewsScript, shard, some, now)
      const [at, looked, ...views] = reply
      found.push(...views.map((view) => bucketView(view, at, durability)))
      from += Math.max(1, looked)
    }
    return found
  }

  /** About 200 buckets at a time. One that lives from the first page to the last is seen, and may be seen twice. */
  async *pages(prefix: string, durability: Durability, now?: number): AsyncGenerator<BucketView[]> {
    for (const shard of this.#store.tags.keys()) {
      let cursor = '0'
      do {
        const reply = await this.#store.read(listScript, shard, [cursor, prefix], now)
        const [at, next, views, others] = reply
        const found = views.map((view) => bucketView(view, at, durability))
        yield [...found, ...(await this.of(shard, others, durability, now))]
        cursor = next
      } while (cursor !== '0')
    }
  }

  /** Exact for a shard whose buckets fit on one page, about a thousand; else a count while the line moves. */
  async audit(): Promise<Audit> {
    const sum = { admitted: 0, waiting: 0, handed: 0, running: 0, retrying: 0, ended: 0 }
    for (const shard of this.#store.tags.keys()) {
      let cursor = '0'
      do {
        const reply = await this.#store.read(auditScript, shard, [cursor])
        const [next, admitted, ended, waiting, handed, running, retrying] = reply
        if (cursor === '0') sum.admitted += admitted
        if (cursor === '0') sum.ended += ended
        sum.waiting += waiting
        sum.handed += handed
        sum.running += running
        sum.retrying += retrying
        cursor = next
      } while (cursor !== '0')
    }
    return sum
  }
}
