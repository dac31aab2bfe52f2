import { expect } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import type { LimitInput } from '../../src/core/limit.ts'
import type { RuleChange } from '../../src/core/rule-layers.ts'
import type { Costs } from '../../src/core/usage.ts'
import type { BucketQueryInput } from '../../src/line/bucket-query.ts'
import type { FamilyQueryInput } from '../../src/line/family-query.ts'
import type { JobRequest } from '../../src/line/job.ts'
import type { WhichStart } from '../../src/line/settle.ts'
import { at, COMPLETED, type Driver, type Ending, type Request, request } from './backend-driver.ts'

const NEVER = Number.POSITIVE_INFINITY

/** Holds the audit against the views after every verb that changes something. */
export class AuditedDriver implements Driver {
  readonly #driver: Driver
  /** The latest time that was used. */
  #now = 0

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** Admits jobs whose ids are one letter each, all with the same other parts. */
  async lineUp(ids: string, now: number, part: Partial<JobRequest> = {}): Promise<void> {
    for (const id of ids) {
      expect(await this.admit(request(id, part), now)).toMatchObject({ accepted: true, id })
    }
  }

  /** Runs every job that departs by `until`, each for no time at all; returns which job departed when, in seconds. */
  async runUntil(until: number): Promise<(readonly [id: string, seconds: number])[]> {
    const departures: [string, number][] = []
    for (let due = await this.nextDeparture(); due <= until; due = await this.nextDeparture()) {
      const started = await this.startNext(due)
      if (started === undefined) throw new Error(`a departure was due at ${due} and no job departed`)
      departures.push([started.id, (started.slot - at(0)) / SECOND])
      await this.finish(started.id, COMPLETED, due)
    }
    return departures
  }

  /** When the next departure is due, in whole microseconds; Infinity when no job may depart. */
  async nextDeparture(): Promise<number> {
    const { buckets } = await this.list({ limit: 1_000 }, this.#now)
    return Math.ceil(Math.min(...buckets.map((view) => (view.nextDepartureAt ?? NEVER) * 1_000)))
  }

  admit(request: Request, now: number) {
    return this.#audited(this.#driver.admit(request, now), now)
  }

  admitMany(requests: readonly Request[], now: number) {
    return this.#audited(this.#driver.admitMany(requests, now), now)
  }

  forecast(key: string, cost: number, now: number) {
    return this.#driver.forecast(key, cost, now)
  }

  cancel(id: string, now: number, key?: string) {
    return this.#audited(this.#driver.cancel(id, now, key), now)
  }

  expire(now: number) {
    return this.#audited(this.#driver.expire(now), now)
  }

  forget(now: number) {
    return this.#audited(this.#driver.forget(now), now)
  }

  startNext(now: number) {
    return this.#audited(this.#driver.startNext(now), now)
  }

  settle(id: string, amounts: Costs, now: number) {
    return this.#audited(this.#driver.settle(id, amounts, now), now)
  }

  settleRunning(id: string, amounts: Costs, which: WhichStart, now: number) {
    return this.#audited(this.#driver.settleRunning(id, amounts, which, now), now)
  }

  finish(id: string, ending: Ending, now: number) {
    return this.#audited(this.#driver.finish(id, ending, now), now)
  }

  freeze(key: string, until: number, now: number) {
    return this.#audited(this.#driver.freeze(key, until, now), now)
  }

  unfreeze(key: string, now: number) {
    return this.#audited(this.#driver.unfreeze(key, now), now)
  }

  pause(key: string, now: number) {
    return this.#audited(this.#driver.pause(key, now), now)
  }

  resume(key: string, now: number) {
    return this.#audited(this.#driver.resume(key, now), now)
  }

  rules() {
    return this.#driver.rules()
  }

  findRule(key: string) {
    return this.#driver.findRule(key)
  }

  layers() {
    return this.#driver.layers()
  }

  changeRules(change: RuleChange, now: number) {
    return this.#audited(this.#driver.changeRules(change, now), now)
  }

  setRule(pattern: string, limit: LimitInput, now: number) {
    return this.#audited(this.#driver.setRule(pattern, limit, now), now)
  }

  unsetRule(pattern: string, now: number) {
    return this.#audited(this.#driver.unsetRule(pattern, now), now)
  }

  job(id: string, now: number, key?: string) {
    return this.#driver.job(id, now, key)
  }

  inspect(key: string, now: number) {
    return this.#driver.inspect(key, now)
  }

  family(path: string, now: number) {
    return this.#driver.family(path, now)
  }

  families(query: FamilyQueryInput, now: number) {
    return this.#driver.families(query, now)
  }

  list(query: BucketQueryInput, now: number) {
    return this.#driver.list(query, now)
  }

  audit() {
    return this.#driver.audit()
  }

  facts(id: string, now: number, key?: string) {
    return this.#driver.facts(id, now, key)
  }

  line(key: string, limit: number, now: number) {
    return this.#driver.line(key, limit, now)
  }

  flow(now: number) {
    return this.#driver.flow(now)
  }

  recent(key: string, now: number) {
    return this.#driver.recent(key, now)
  }

  stored() {
    return this.#driver.stored()
  }

  close() {
    return this.#driver.close()
  }

  async #audited<Answer>(verb: Promise<Answer>, now: number): Promise<Answer> {
    const answer = await verb
    this.#now = Math.max(this.#now, now)
    const audit = await this.#driver.audit()
    const { admitted, waiting, handed, running, retrying, ended } = audit
    expect(waiting + handed + running + retrying + ended, 'the jobs by state').toBe(admitted)
    const { buckets } = await this.#driver.list({ sort: 'key', limit: 1_000 }, now)
    const sum = (field: 'jobs' | 'retrying' | 'running') => buckets.reduce((n, view) => n + view[field], 0)
    const seen = { waiting: sum('jobs'), handed: 0, running: sum('running'), retrying: sum('retrying') }
    expect(seen, 'the jobs by bucket').toEqual({ waiting, handed, running, retrying })
    return answer
  }
}
