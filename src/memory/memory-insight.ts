import type { Clock } from '../core/clock.ts'
import type { JobExplanation } from '../core/explanation-view.ts'
import type { Flow, LineView, Recent } from '../core/line-view.ts'
import type { Insight } from '../line/engine.ts'
import { explain } from '../line/explanation.ts'
import type { JobFacts, Stall } from '../line/job-facts.ts'
import { type LiveRuleBook, ruleOf } from '../line/limits.ts'
import type { MemoryHandoff } from './memory-handoff.ts'
import type { MemoryWorker } from './memory-worker.ts'
import type { StoreViews } from './store/store-views.ts'

type WorkerState = Pick<MemoryWorker<unknown, unknown>, 'isOpen' | 'hasRoom' | 'running'>

export interface InsightPorts {
  readonly views: StoreViews
  readonly clock: Clock
  readonly limits: LiveRuleBook
  readonly workers: ReadonlySet<WorkerState>
  readonly handoff: Pick<MemoryHandoff, 'withholdsFrom'>
}

/** What a line in memory shows beyond its views: the store knows the line, and the workers know who takes jobs. */
export class MemoryInsight implements Insight {
  readonly #ports: InsightPorts

  constructor(ports: InsightPorts) {
    this.#ports = ports
  }

  explain(id: string): JobExplanation | undefined {
    const { views, clock, limits } = this.#ports
    const facts = views.facts(id, clock.now())
    if (facts === undefined) return undefined
    const wait = facts.wait && { ...facts.wait, stall: this.#stallOf(facts) }
    return explain({ ...facts, wait }, ruleOf(limits, facts.key))
  }

  line(key: string, limit: number): LineView | undefined {
    const { views, clock } = this.#ports
    return views.line(key, limit, clock.now())
  }

  flow(): Flow {
    const { views, clock } = this.#ports
    return views.flow(clock.now())
  }

  recent(key: string): Recent {
    const { views, clock } = this.#ports
    return views.recent(key, clock.now())
  }

  /** What keeps the head although it may go. A turn at the head needs no handler, but a job behind it may. */
  #stallOf({ now, key, wait }: JobFacts): Stall | undefined {
    if (!wait?.needsHandler) return undefined
    const open = [...this.#ports.workers].filter(({ isOpen }) => isOpen)
    if (open.length === 0) return { kind: 'no-worker' }
    if (wait.head.isTurn || wait.head.due > now) return undefined
    const running = open.reduce((sum, worker) => sum + worker.running, 0)
    if (!open.some(({ hasRoom }) => hasRoom)) return { kind: 'busy', running }
    return this.#ports.handoff.withholdsFrom(key) ? { kind: 'shared-out', running } : undefined
  }
}
