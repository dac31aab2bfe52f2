import type { Admission } from '../../src/core/job.ts'
import { differenceOf, LayeredBook, parseLayer, type RuleChange } from '../../src/core/layered-book.ts'
import type { LimitInput } from '../../src/core/limit.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { type BucketQueryInput, bucketQuerySchema } from '../../src/line/bucket-query.ts'
import { inTurns } from '../../src/memory/in-turns.ts'
import type { JobRecord } from '../../src/memory/store/job-record.ts'
import { MemoryBackend } from '../../src/memory/store/memory-backend.ts'
import { at, type Driver, type Ending, type Request, type Started } from './backend-driver.ts'

export async function memoryDriver(
  limits: Readonly<Record<string, LimitInput>>,
  keepFinished = 1_000,
): Promise<Driver> {
  const book = LayeredBook.of(parseLayer(limits), { at: at(0), version: 1 })
  return new MemoryDriver(new MemoryBackend(book, keepFinished))
}

class MemoryDriver implements Driver {
  readonly #backend: MemoryBackend
  readonly #running = new Map<string, JobRecord>()

  constructor(backend: MemoryBackend) {
    this.#backend = backend
  }

  async admit(request: Request, now: number) {
    return this.#noted(request, this.#backend.admit(request, now), now)
  }

  async admitMany(requests: readonly Request[], now: number) {
    const admissions = this.#backend.admitMany(requests, now)
    return admissions.map((admission, index) => this.#noted(requests[index]!, admission, now))
  }

  /** As whoever tells of verdicts does. */
  #noted({ key, id }: Request, admission: Admission, now: number): Admission {
    this.#backend.insight.noteVerdict(key, id, admission, now)
    return admission
  }

  async forecast(key: string, cost: number, now: number) {
    return this.#backend.forecast(key, cost, now)
  }

  async cancel(id: string, now: number) {
    return this.#backend.cancel(id, now) !== undefined
  }

  async expire(now: number) {
    return this.#backend.expire(now).map(({ id }) => id)
  }

  async forget(now: number) {
    while (this.#backend.forget(now) > 0);
  }

  async startNext(now: number): Promise<Started | undefined> {
    const job = this.#backend.claim(now)
    if (job === undefined) return undefined
    const slot = this.#backend.gate(job, now)
    this.#backend.began(job, slot, { calledAt: now, returnedAt: now, delay: 0 })
    this.#running.set(job.id, job)
    const { id, key, data, cost, settings, traceparent, attempt, fence, crashes, admittedAt } = job
    return { id, key, data, cost, settings, traceparent, attempt, fence, crashes, admittedAt, slot }
  }

  async finish(id: string, ending: Ending, now: number) {
    const job = this.#running.get(id)
    if (job === undefined) throw new Error(`${id} does not run`)
    this.#running.delete(id)
    if (ending.kind === 'freeze') {
      const readyAt = this.#backend.freeze(job.key, ending.until, now)
      this.#backend.finish(job, { kind: 'freeze', readyAt }, now)
    } else if (ending.kind === 'completed') {
      this.#backend.finish(job, { kind: 'completed', result: ending.result }, now)
    } else {
      this.#backend.finish(job, ending, now)
    }
  }

  async freeze(key: string, until: number, now: number) {
    return this.#backend.freeze(key, until, now)
  }

  async unfreeze(key: string, now: number) {
    return this.#backend.unfreeze(key, now)
  }

  async pause(key: string, now: number) {
    this.#backend.pause(key, now)
  }

  async resume(key: string, now: number) {
    this.#backend.resume(key, now)
  }

  async rules() {
    return this.#backend.rules.list()
  }

  async layers() {
    return this.#backend.rules.layers
  }

  async findRule(key: string) {
    return this.#backend.rules.find(key)
  }

  async changeRules(change: RuleChange, now: number) {
    const changed = this.#backend.changeRules(change, now)
    return { isChanged: changed.isChanged, ...differenceOf(changed) }
  }

  async setRule(pattern: string, limit: LimitInput, now: number) {
    await this.changeRules({ kind: 'set', rule: parseRule(pattern, limit) }, now)
  }

  async unsetRule(pattern: string, now: number) {
    return (await this.changeRules({ kind: 'unset', pattern }, now)).isChanged
  }

  async job(id: string, now: number) {
    return this.#backend.job(id, now)
  }

  async inspect(key: string, now: number) {
    return this.#backend.inspect(key, now)
  }

  async list(query: BucketQueryInput, now: number) {
    return inTurns(this.#backend.list(bucketQuerySchema.parse(query), now))
  }

  async audit() {
    return this.#backend.audit()
  }

  async facts(id: string, now: number) {
    return this.#backend.insight.facts(id, now)
  }

  async line(key: string, limit: number, now: number) {
    return this.#backend.insight.line(key, limit, now)
  }

  async flow(now: number) {
    return this.#backend.insight.flow(now)
  }

  async recent(key: string, now: number) {
    return this.#backend.insight.recent(key, now)
  }

  async stored() {
    return []
  }

  async close() {}
}
