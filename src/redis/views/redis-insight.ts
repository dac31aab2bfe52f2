import { MILLISECOND } from '../../core/duration.ts'
import type { JobExplanation } from '../../core/explanation-view.ts'
import type { Flow, LineJob, LineView, Recent, RecentDeparture, RecentVerdict } from '../../core/line-view.ts'
import type { RuleView } from '../../core/rule-view.ts'
import { REJECT_REASONS } from '../../core/verdict.ts'
import type { Insight } from '../../line/engine.ts'
import { explain } from '../../line/explanation.ts'
import type { JobFacts } from '../../line/job-facts.ts'
import { shardOf } from '../scripts/keys.ts'
import { type Answer, list, number, optional, rest, row, text, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { readFacts } from './explain.ts'

/** Times are microseconds; -Infinity for a job that is not to be tried again. */
const jobRow = row({
  id: text,
  cost: number,
  state: word('handed', 'waiting', 'retrying'),
  admittedAt: number,
  readyAt: number,
})
const verdictRow = row({ at: number, id: text, waiting: number, verdict: word('yes', ...REJECT_REASONS) })
/** Gaps are infinite where no start before it is remembered. */
const startRow = row({ at: number, id: text, gap: number, gapRatio: number })

const flowScript = defineScript(
  'flow',
  import.meta.url,
  list(row({ now: number, admitted: number, granted: number, ended: number, rejected: number })),
)
const lineScript = defineScript(
  'line',
  import.meta.url,
  list(optional(row({ total: number, jobs: rest(jobRow) }))),
)
const recentScript = defineScript(
  'recent',
  import.meta.url,
  list(row({ verdicts: list(rest(verdictRow)), starts: list(rest(startRow)) })),
)

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

  async facts(id: string, now?: number): Promise<JobFacts | undefined> {
    await this.#ports.ready()
    return readFacts(this.#store, id, now)
  }

  async line(key: string, limit: number, now?: number): Promise<LineView | undefined> {
    await this.#ports.ready()
    const line = await this.#store.read(lineScript, this.#shardOf(key), [key, limit], now)
    return line && { key, total: line.total, jobs: line.jobs.map(lineJob) }
  }

  async flow(now?: number): Promise<Flow> {
    await this.#ports.ready()
    const asked = this.#store.tags.map((_, shard) => this.#store.read(flowScript, shard, [], now))
    const sum = { at: 0, admitted: 0, rejected: 0, departed: 0, ended: 0 }
    for (const shard of await Promise.all(asked)) {
      sum.at = Math.max(sum.at, shard.now / MILLISECOND)
      sum.admitted += shard.admitted
      sum.rejected += shard.rejected
      sum.departed += shard.granted
      sum.ended += shard.ended
    }
    return sum
  }

  /** Also prolongs the time for which the bucket is watched; a call that is sent twice does no harm. */
  async recent(key: string, now?: number): Promise<Recent> {
    await this.#ports.ready()
    const { verdicts, starts } = await this.#store.read(recentScript, this.#shardOf(key), [key], now)
    return { verdicts: verdicts.map(recentVerdict), departures: starts.map(recentDeparture) }
  }

  #shardOf(key: string): number {
    return shardOf(key, this.#store.tags.length)
  }
}

function lineJob({ id, cost, state, admittedAt, readyAt }: Answer<typeof jobRow>): LineJob {
  return {
    id,
    cost,
    state,
    admittedAt: admittedAt / MILLISECOND,
    ...(Number.isFinite(readyAt) && { readyAt: readyAt / MILLISECOND }),
    // Only the id of a turn begins so.
    ...(id.startsWith('~') && { isTurn: true as const }),
  }
}

function recentVerdict({ at, id, waiting, verdict }: Answer<typeof verdictRow>): RecentVerdict {
  const reason = verdict === 'yes' ? {} : { reason: verdict }
  return { at: at / MILLISECOND, id, accepted: verdict === 'yes', ...reason, waiting }
}

function recentDeparture({ at, id, gap, gapRatio }: Answer<typeof startRow>): RecentDeparture {
  const isKnown = Number.isFinite(gap)
  return { at: at / MILLISECOND, id, ...(isKnown && { gapMs: gap / MILLISECOND, gapRatio }) }
}
