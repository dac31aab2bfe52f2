import { MILLISECOND } from '../../core/duration.ts'
import type { Flow, LineView, Recent } from '../../core/line-view.ts'
import type { SharedInsight } from '../../line/insight.ts'
import type { JobFacts } from '../../line/job-facts.ts'
import { firstFound } from '../scripts/first-found.ts'
import * as replies from '../scripts/replies.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { guestOf, jobFacts, startOf, verdictOf } from './insight-answers.ts'

const explainScript = defineScript('explain', import.meta.url, replies.explainReply)
const flowScript = defineScript('flow', import.meta.url, replies.flowReply)
const guestsScript = defineScript('guests', import.meta.url, replies.guestsReply)
const recentScript = defineScript('recent', import.meta.url, replies.recentReply)

/** What can be seen of shared lines beyond their views. */
export class RedisInsight implements SharedInsight {
  readonly #store: Store
  readonly #shardOf: (key: string) => number

  constructor(store: Store, shardOf: (key: string) => number) {
    this.#store = store
    this.#shardOf = shardOf
  }

  /** An id does not tell its shard, so all are asked. */
  async facts(id: string, now?: number): Promise<JobFacts | undefined> {
    const asked = this.#store.tags.map(async (_, shard) => {
      const reply = await this.#store.read(explainScript, shard, [id], now)
      return jobFacts(id, reply)
    })
    return firstFound(asked)
  }

  async line(key: string, limit: number, now?: number): Promise<LineView | undefined> {
    const reply = await this.#store.read(guestsScript, this.#shardOf(key), [key, limit], now)
    const [total, ...values] = reply
    if (total === undefined) return undefined
    return { key, total, guests: replies.inGroups(values, 5).map(guestOf) }
  }

  async flow(now?: number): Promise<Flow> {
    const asked = this.#store.tags.map((_, shard) => this.#store.read(flowScript, shard, [], now))
    const sum = { at: 0, admitted: 0, rejected: 0, departed: 0, ended: 0 }
    for (const [at, admitted, departed, ended, rejected] of await Promise.all(asked)) {
      sum.at = Math.max(sum.at, at / MILLISECOND)
      sum.admitted += admitted
      sum.rejected += rejected
      sum.departed += departed
      sum.ended += ended
    }
    return sum
  }

  /** Writes down until when the bucket is watched; asked twice, that is done once more, which does no harm. */
  async recent(key: string, now?: number): Promise<Recent> {
    const reply = await this.#store.read(recentScript, this.#shardOf(key), [key], now)
    const [, count, ...values] = reply
    const groups = replies.inGroups(values, 4)
    return { verdicts: groups.slice(0, count).map(verdictOf), departures: groups.slice(count).map(startOf) }
  }
}
