import type { Admission } from '../../src/core/job.ts'
import { differenceOf, LayeredBook, parseLayer } from '../../src/core/layered-book.ts'
import type { LimitInput } from '../../src/core/limit.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import type { RuleChange } from '../../src/core/rule-layers.ts'
import type { Costs } from '../../src/core/usage.ts'
import { type BucketQueryInput, bucketQuerySchema } from '../../src/line/bucket-query.ts'
import { type FamilyQueryInput, familyQuerySchema } from '../../src/line/family-query.ts'
import type { Retention } from '../../src/line/options.ts'
import type { WhichStart } from '../../src/line/settle.ts'
import type { JobRecord } from '../../src/memory/store/job-record.ts'
import { MemoryStore } from '../../src/memory/store/memory-store.ts'
import { WalkTurns } from '../../src/memory/walk-turns.ts'
import { at, type Driver, type Ending, type Request, type Started } from './backend-driver.ts'
import { retentionFor } from './memory-store.ts'

export async function memoryDriver(
  limits: Readonly<Record<string, LimitInput>>,
  keepFinished: number | Retention = 1_000,
): Promise<Driver> {
  const book = LayeredBook.of(parseLayer(limits), { at: at(0), version: 1 })
  return new MemoryDriver(new MemoryStore(book, retentionFor(keepFinished)))
}

class MemoryDriver implements Driver {
  readonly #store: MemoryStore
  readonly #running = new Map<string, JobRecord>()
  readonly #started = new Map<string, JobRecord>()

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async admit(request: Request, now: number) {
    return this.#noted(request, this.#store.admit(request, now), now)
  }

  async admitMany(requests: readonly Request[], now: number) {
    const admissions = this.#store.admitMany(requests, now)
    return admissions.map((admission, index) => this.#noted(requests[index]!, admission, now))
  }

  /** As the emitter of verdicts does. */
  #noted({ key, id }: Request, admission: Admission, now: number): Admission {
    this.#store.noteVerdict(key, id, admission, now)
    return admission
  }

  async forecast(key: string, cost: number, now: number) {
    return this.#store.forecast(key, cost, now)
  }

  async cancel(id: string, now: number, key?: string) {
    return this.#store.cancel(id, now, key) !== undefined
  }

  async expire(now: number) {
    return this.#store.expire(now).map(({ id }) => id)
  }

  async forget(now: number) {
    while (this.#store.forget(now) > 0);
  }

  async startNext(now: number): Promise<Started | undefined> {
    const job = this.#store.claim(now)
    if (job === undefined) return undefined
    const slot = this.#store.starts.gate(job, now)
    this.#store.starts.began(job, slot, { calledAt: now, returnedAt: now, delay: 0 })
    this.#running.set(job.id, job)
    this.#started.set(job.id, job)
    const { id, key, data, cost, costs, settings, traceparent, attempt, fence, crashes, admittedAt } = job
    const named = costs && { costs }
    return { id, key, data, cost, ...named, settings, traceparent, attempt, fence, crashes, admittedAt, slot }
  }

  async settle(id: string, amounts: Costs, now: number) {
    const job = this.#started.get(id)
    return job !== undefined && this.#store.starts.settle(job, amounts, now)
  }

  async settleRunning(id: string, amounts: Costs, which: WhichStart, now: number) {
    const job = this.#store.runningJob(id, undefined, which)
    return job !== undefined && this.#store.starts.settle(job, amounts, now)
  }

  async finish(id: string, ending: Ending, now: number) {
    const job = this.#running.get(id)
    if (job === undefined) throw new Error(`${id} does not run`)
    this.#running.delete(id)
    if (ending.kind === 'freeze') {
      const readyAt = this.#store.holds.freeze(job.key, ending.until, now)
      this.#store.finish(job, { kind: 'freeze', readyAt }, now)
    } else if (ending.kind === 'completed') {
      this.#store.finish(job, { kind: 'completed', result: ending.result }, now)
    } else {
      this.#store.finish(job, ending, now)
    }
  }

  async freeze(key: string, until: number, now: number) {
    return this.#store.holds.freeze(key, until, now)
  }

  async unfreeze(key: string, now: number) {
    return this.#store.holds.unfreeze(key, now)
  }

  async pause(key: string, now: number) {
    this.#store.holds.pause(key, now)
  }

  async resume(key: string, now: number) {
    this.#store.holds.resume(key, now)
  }

  async rules() {
    return this.#store.rules.list()
  }

  async layers() {
    return this.#store.rules.layers
  }

  async findRule(key: string) {
    return this.#store.rules.find(key)
  }

  async changeRules(change: RuleChange, now: number) {
    const changed = this.#store.changeRules(change, now)
    return { isChanged: changed.isChanged, ...differenceOf(changed) }
  }

  async setRule(pattern: string, limit: LimitInput, now: number) {
    await this.changeRules({ kind: 'set', rule: parseRule(pattern, limit) }, now)
  }

  async unsetRule(pattern: string, now: number) {
    return (await this.changeRules({ kind: 'unset', pattern }, now)).isChanged
  }

  async job(id: string, now: number, key?: string) {
    return this.#store.views.job(id, now, key)
  }

  async inspect(key: string, now: number) {
    return this.#store.views.inspect(key, now)
  }

  async family(path: string, now: number) {
    return this.#store.views.family(path, now)
  }

  async families(query: FamilyQueryInput, now: number) {
    return new WalkTurns().run(this.#store.views.listFamilies(familyQuerySchema.parse(query), now))
  }

  async list(query: BucketQueryInput, now: number) {
    return new WalkTurns().run(this.#store.views.list(bucketQuerySchema.parse(query), now))
  }

  async audit() {
    return new WalkTurns().run(this.#store.views.audit())
  }

  async facts(id: string, now: number, key?: string) {
    return this.#store.views.facts(id, now, key)
  }

  async line(key: string, limit: number, now: number) {
    return this.#store.views.line(key, limit, now)
  }

  async flow(now: number) {
    return this.#store.views.flow(now)
  }

  async recent(key: string, now: number) {
    return this.#store.views.recent(key, now)
  }

  async stored() {
    return []
  }

  async close() {}
}
