import { MILLISECOND } from '../../core/duration.ts'
import type { JobExplanation } from '../../core/explanation-view.ts'
import type { Flow, LineView, Recent } from '../../core/line-view.ts'
import type { RuleView } from '../../core/rule-view.ts'
import type { Insight } from '../../line/engine.ts'
import { explain } from '../../line/explanation.ts'
import type { JobFacts } from '../../line/job-facts.ts'
import { firstFound } from '../scripts/first-found.ts'
import * as replies from '../scripts/replies.ts'
import { defineScript } from '../scripts/script.ts'
import { shardOf } from '../scripts/shard-of.ts'
import type { Store } from '../scripts/store.ts'
import { jobFacts, lineJobOf, startOf, verdictOf } from './insight-answers.ts'

const explainScript = defineScript('explain', import.meta.url, replies.explainReply)
const flowScript = defineScript('flow', import.meta.url, replies.flowReply)
const guestsScript = defineScript('guests', import.meta.url, replies.guestsReply)
const recentScript = defineScript('recent', import.meta.url, replies.recentReply)

export interface InsightPorts {
  /** Resolves when the line can be used. */
  ready(): Promise<void>
  /** The rule that governs a key, as this process knows it. */
  ruleOf(key: string): RuleView | undefined
}

/** What the line on Redis shows beyond its views. Only tests pass `now`. */
export class RedisInsight implements Insight {
  readonly #store: Store
  readonly #ports: InsightPorts

  constructor(store: Store, ports: InsightPorts) {
    this.#store = store
    this.#ports = ports
  }

  async explain(id: string): Promise<JobExplanation | undefined> {
    const facts = await this.facts(id)
    return facts && explain(facts, this.#ports.ruleOf(facts.key))
  }

  /** What Redis knows of a job. The id does not tell its shard, so all shards are asked. */
  async facts(id: string, now?: number): Promise<JobFacts | undefined> {
    await this.#ports.ready()
    const asked = this.#store.tags.map(async (_, shard) =>
      jobFacts(id, await this.#store.read(explainScript, shard, [id], now)),
    )
    return firstFound(asked)
  }

  async line(key: string, limit: number, now?: number): Promise<LineView | undefined> {
    await this.#ports.ready()
    const reply = await this.#store.read(guestsScript, this.#shardOf(key), [key, limit], now)
    const [total, ...values] = reply
    if (total === undefined) return undefined
    return { key, total, jobs: replies.inGroups(values, 5).map(lineJobOf) }
  }

  async flow(now?: number): Promise<Flow> {
    await this.#ports.ready()
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
    await this.#ports.ready()
    const reply = await this.#store.read(recentScript, this.#shardOf(key), [key], now)
    const [, count, ...values] = reply
    const groups = replies.inGroups(values, 4)
    return { verdicts: groups.slice(0, count).map(verdictOf), departures: groups.slice(count).map(startOf) }
  }

  #shardOf(key: string): number {
    return shardOf(key, this.#store.tags.length)
  }
}
