import type { Clock } from '../core/clock.ts'
import type { JobExplanation } from '../core/explanation-view.ts'
import type { Flow, LineView, Recent } from '../core/line-view.ts'
import type { Insight } from '../line/engine.ts'
import { explain } from '../line/explanation.ts'
import type { JobFacts, Stall } from '../line/job-facts.ts'
import { type LiveRuleBook, ruleOf } from '../line/limits.ts'
import type { InlineHandoff } from './inline-handoff.ts'
import type { LocalWorker } from './local-worker.ts'
import type { MemoryInsight } from './store/memory-insight.ts'

type Hands = Pick<LocalWorker<unknown, unknown>, 'isOpen' | 'hasRoom' | 'running'>

/** What lies behind the views of a line in memory: the backend knows the line, and the workers who takes jobs. */
export class LocalInsight implements Insight {
  readonly #store: MemoryInsight
  readonly #clock: Clock
  readonly #limits: LiveRuleBook
  readonly #workers: ReadonlySet<Hands>
  readonly #handoff: Pick<InlineHandoff, 'withholdsFrom'>

  constructor(
    store: MemoryInsight,
    clock: Clock,
    limits: LiveRuleBook,
    workers: ReadonlySet<Hands>,
    handoff: Pick<InlineHandoff, 'withholdsFrom'>,
  ) {
    this.#store = store
    this.#clock = clock
    this.#limits = limits
    this.#workers = workers
    this.#handoff = handoff
  }

  explain(id: string): JobExplanation | undefined {
    const facts = this.#store.facts(id, this.#clock.now())
    if (facts === undefined) return undefined
    const wait = facts.wait && { ...facts.wait, stall: this.#stallOf(facts) }
    return explain({ ...facts, wait }, ruleOf(this.#limits, facts.key))
  }

  line(key: string, limit: number): LineView | undefined {
    return this.#store.line(key, limit, this.#clock.now())
  }

  flow(): Flow {
    return this.#store.flow(this.#clock.now())
  }

  recent(key: string): Recent {
    return this.#store.recent(key, this.#clock.now())
  }

  /** A turn at the head needs no handler, but somebody behind it may; and none is missed before the head may go. */
  #stallOf({ now, key, wait }: JobFacts): Stall | undefined {
    if (!wait?.needsHandler) return undefined
    const open = [...this.#workers].filter(({ isOpen }) => isOpen)
    if (open.length === 0) return { kind: 'no-worker' }
    if (wait.head.isTurn || wait.head.due > now) return undefined
    const running = open.reduce((sum, worker) => sum + worker.running, 0)
    if (!open.some(({ hasRoom }) => hasRoom)) return { kind: 'busy', running }
    return this.#handoff.withholdsFrom(key) ? { kind: 'shared-out', running } : undefined
  }
}
