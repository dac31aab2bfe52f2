import type { JobExplanation } from '../core/explanation-view.ts'
import type { Flow, LineView, Recent } from '../core/line-view.ts'
import type { EngineInsight } from '../line/engine.ts'
import { explain } from '../line/explanation.ts'
import type { SharedInsight } from '../line/insight.ts'
import { type LiveRuleBook, ruleOf } from '../line/limits.ts'

/** What lies behind the views of a line that many processes share. */
export class SharedLineInsight implements EngineInsight {
  readonly #insight: SharedInsight
  readonly #limits: LiveRuleBook
  readonly #ready: () => Promise<void>

  /** @param ready resolves when the line can be used */
  constructor(insight: SharedInsight, limits: LiveRuleBook, ready: () => Promise<void>) {
    this.#insight = insight
    this.#limits = limits
    this.#ready = ready
  }

  async explain(id: string): Promise<JobExplanation | undefined> {
    await this.#ready()
    const facts = await this.#insight.facts(id)
    return facts && explain(facts, ruleOf(this.#limits, facts.key))
  }

  async line(key: string, limit: number): Promise<LineView | undefined> {
    await this.#ready()
    return this.#insight.line(key, limit)
  }

  async flow(): Promise<Flow> {
    await this.#ready()
    return this.#insight.flow()
  }

  async recent(key: string): Promise<Recent> {
    await this.#ready()
    return this.#insight.recent(key)
  }
}
