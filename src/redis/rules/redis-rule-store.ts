import type { ChangedRules, LayeredBook } from '../../core/layered-book.ts'
import type { RuleChange } from '../../core/rule-layers.ts'
import { emitRules } from '../../line/emit.ts'
import type { Emitter } from '../../line/emitter.ts'
import type { RuleStore } from '../../line/limits.ts'
import type { LocalLimits } from '../../line/local-limits.ts'
import type { RedisRules } from './redis-rules.ts'

interface RedisRuleStorePorts<Result> {
  readonly localLimits: LocalLimits
  readonly views: Pick<RuleStore, 'survey' | 'line'>
  readonly backend: {
    readonly rules: Pick<RedisRules, 'book' | 'change'>
    follow(): Promise<Error[]>
  }
  readonly emitter: Emitter<Result>
  readonly onError: (error: Error) => void
  /** Resolves when the line can be used. */
  readonly ready: () => Promise<void>
}

/** The rule book of a line on Redis, and the local limits of this process. */
export class RedisRuleStore<Result> implements RuleStore {
  readonly localLimits: LocalLimits
  readonly survey: RuleStore['survey']
  readonly line: RuleStore['line']
  readonly #ports: RedisRuleStorePorts<Result>

  constructor(ports: RedisRuleStorePorts<Result>) {
    this.localLimits = ports.localLimits
    this.survey = () => ports.views.survey()
    this.line = (key, limit) => ports.views.line(key, limit)
    this.#ports = ports
  }

  get rules(): LayeredBook {
    return this.#ports.backend.rules.book
  }

  /** Fetches the book if another process has changed it. Each problem that it finds is reported once. */
  async follow(): Promise<void> {
    const { backend, onError } = this.#ports
    for (const error of await backend.follow()) onError(error)
  }

  async refresh(): Promise<void> {
    await this.#ports.ready()
    await this.follow()
  }

  async changeRules(change: RuleChange): Promise<ChangedRules> {
    const { backend, emitter, ready } = this.#ports
    await ready()
    const changed = await backend.rules.change(change)
    emitRules(emitter, changed)
    return changed
  }
}
