import type { Redis } from 'ioredis'
import { parseRule } from '../../../../src/core/rule-book.ts'
import type { RedisBackend } from '../../../../src/redis/redis-backend.ts'
import { SETTINGS } from '../../../support/backend-driver.ts'
import { letters } from '../../actors/transition.ts'
import { TICK } from '../../durations.ts'
import { differenceFrom, type Names } from '../../real/compare.ts'
import { limitText } from '../../real/mirror.ts'
import { viewOf } from '../../real/view.ts'
import type { FamilyCall } from '../actors/calls.ts'
import type { FamilyWorld } from '../actors/world.ts'
import { differenceOfPlace, differenceOfTotal } from './compare.ts'
import { totalsView } from './totals-view.ts'

/** Repeats on the real scripts what the model does, at the model's time, and compares answers and states. */
export class FamilyMirror {
  readonly #backend: RedisBackend
  readonly #redis: Redis
  readonly #world: FamilyWorld
  /** By job and epoch of the model, that of the store. */
  readonly #epochs = new Map<string, number>()
  /** By the names of the model, those of processes. */
  readonly #workers = ['', 'w1', 'w2', 'frozen']
  readonly #schedulers = ['', 's1', 's2']
  #now: number

  constructor(world: FamilyWorld, backend: RedisBackend, redis: Redis, beginsAt: number) {
    this.#world = world
    this.#backend = backend
    this.#redis = redis
    this.#now = beginsAt
  }

  get #tag(): string {
    return this.#backend.store.tags[0]!
  }

  advance(ticks: number): void {
    this.#now += ticks * TICK
  }

  /** A process is killed, and the one that takes its place has another name. */
  replace(what: 'worker' | 'scheduler', way: number): void {
    const names = what === 'worker' ? this.#workers : this.#schedulers
    names[way + 1] += "'"
  }

  /** After a restart the server has another name. */
  async restart(): Promise<void> {
    await this.#redis.hset(`${this.#tag}:meta`, 'run', 'another')
  }

  /** The first difference between the two, after the calls of one step; undefined: there is none. */
  async follow(calls: readonly FamilyCall[]): Promise<string | undefined> {
    for (const call of calls) {
      const [model, store] = (await this.#repeat(call)).map((answer) => JSON.stringify(answer))
      if (model !== store) return `${call.verb}: ${model} in the model, ${store} in the store`
    }
    return calls.length === 0 ? undefined : this.#difference()
  }

  async #difference(): Promise<string | undefined> {
    const { family, setup, ends } = this.#world
    const totals = await totalsView(
      this.#redis,
      this.#tag,
      setup.totals.map(({ key }) => key),
      this.#now,
    )
    family.count()
    for (const total of family.totals) {
      const found = differenceOfTotal(this.#world, total, totals[total.name], this.#names(0))
      if (found !== undefined) return `${total.name}: ${found}`
    }
    for (const [bucket, place] of family.places.entries()) {
      const names = this.#names(bucket)
      const view = await viewOf(this.#redis, this.#tag, place.name, names.ids)
      const found =
        differenceFrom({ shard: place.shard, ends }, view, names) ??
        differenceOfPlace(this.#world, place, view.place, names)
      if (found !== undefined) return `${place.name}: ${found}`
    }
    return undefined
  }

  /** Of the jobs of one bucket. */
  #names(bucket: number): Names {
    const { setup } = this.#world
    const jobs = [...setup.jobs.keys()].filter((job) => setup.jobs[job]!.of === bucket)
    return {
      ids: jobs.map((job) => letters[job]!),
      instant: (ticks) => this.#instant(ticks),
      epoch: (index, epoch) => this.#epochs.get(`${jobs[index]} ${epoch}`),
      worker: (name) => this.#workers[name] || undefined,
      scheduler: (name) => this.#schedulers[name] || undefined,
    }
  }

  #instant(ticks: number): number {
    return this.#now + Math.round(ticks * TICK)
  }

  #heldKey(held: number): string {
    const { buckets, totals } = this.#world.setup
    return [...buckets, ...totals][held]!.key
  }

  #handed(job: number, epoch: number) {
    return { id: letters[job]!, epoch: this.#epochs.get(`${job} ${epoch}`) ?? 0 }
  }

  /** What the model has answered, and what the store does. */
  async #repeat(call: FamilyCall): Promise<readonly [unknown, unknown]> {
    const { verbs } = this.#backend
    const { lease } = this.#world.setup.durations
    const now = this.#now
    switch (call.verb) {
      case 'admit':
        return [call.answer === 'yes' || call.answer, await this.#admit(call.job)]
      case 'claim':
        return this.#claim(call)
      case 'gate':
        return this.#gate(call)
      case 'start': {
        const report = { ...this.#handed(call.job, call.epoch), startedAt: this.#instant(call.startedAt) }
        return [call.answer, (await verbs.start(0, [report], now))[0] !== 'lost']
      }
      case 'finish':
        return [call.answer, await this.#finish(call)]
      case 'renew':
        return [[call.answer], await verbs.renew(0, [this.#handed(call.job, call.epoch)], lease * TICK, now)]
      case 'freeze': {
        const { held, duration } = call
        return [undefined, void (await verbs.freeze(this.#heldKey(held), duration * TICK, now))]
      }
      case 'unfreeze':
        return [call.answer, (await verbs.unfreeze(this.#heldKey(call.held), now)).isLifted]
      case 'pause':
      case 'resume':
        return [undefined, void (await verbs[call.verb](this.#heldKey(call.held), now))]
      case 'changeLimit':
        return [undefined, void (await this.#changeLimit(call.held))]
      case 'recover': {
        const { jobs: lost } = await verbs.recover(0, {}, now)
        const fate = ({ crashed, failed }: (typeof lost)[number]) =>
          failed ? 'failed' : crashed ? 'crashed' : 'waits'
        const expected = call.answer.map(({ job, epoch, fate }) => [
          ...Object.values(this.#handed(job, epoch)),
          fate,
        ])
        return [expected, lost.map((job) => [job.id, job.epoch, fate(job)])]
      }
    }
  }

  async #admit(job: number): Promise<true | string> {
    const { cost, of } = this.#world.setup.jobs[job]!
    const { key } = this.#world.setup.buckets[of]!
    const asked = {
      id: letters[job]!,
      key,
      data: '1',
      cost,
      settings: SETTINGS,
      deadline: Number.POSITIVE_INFINITY,
    }
    const { admission } = await this.#backend.verbs.admit(asked, this.#now)
    return admission.accepted || admission.reason
  }

  async #claim({ scheduler, answer }: Extract<FamilyCall, { verb: 'claim' }>) {
    const { durations, lookAhead } = this.#world.setup
    const asked = { scheduler: this.#schedulers[scheduler]!, lookAhead: lookAhead * TICK, most: 200 }
    const claim = await this.#backend.verbs.claim(
      0,
      { ...asked, lease: durations.claimLease * TICK },
      this.#now,
    )
    for (const [index, { epoch }] of claim.jobs.entries()) {
      const job = answer?.[index]
      if (job !== undefined) this.#epochs.set(`${job} ${this.#world.record(job).epoch}`, epoch)
    }
    const store = claim.isElected ? claim.jobs.map(({ id }) => id) : undefined
    return [answer?.map((job) => letters[job]), store] as const
  }

  async #gate({ job, epoch, worker, missed, answer: model }: Extract<FamilyCall, { verb: 'gate' }>) {
    const { lease, farthest } = this.#world.setup.durations
    const asked = {
      ...this.#handed(job, epoch),
      worker: this.#workers[worker]!,
      lead: 0,
      error: 0,
      lease: lease * TICK,
    }
    const request = missed === undefined ? asked : { ...asked, missed: this.#instant(missed) }
    const [answer] = (await this.#backend.verbs.gate(0, [request], this.#now)).answers
    if (model.kind !== 'granted' || answer?.kind !== 'granted') return [model.kind, answer?.kind] as const
    const { slot, startAt } = model
    const latest = Math.min(startAt + farthest, model.latest)
    return [
      [slot, startAt, latest].map((time) => this.#instant(time)),
      [answer.slot, answer.startAt, answer.latest].map((time) => Math.round(time)),
    ] as const
  }

  async #changeLimit(held: number): Promise<void> {
    const { buckets, totals } = this.#world.setup
    const { key, changed, weight } = [...buckets, ...totals][held]!
    const rule = parseRule(key, limitText(changed!, weight))
    await this.#backend.rules.change({ kind: 'set', rule }, this.#now)
  }

  async #finish(call: Extract<FamilyCall, { verb: 'finish' }>): Promise<boolean> {
    const { job, epoch, worker, startedAt, outcome, delay } = call
    const said =
      outcome === 'back'
        ? ({ kind: 'back', worker: this.#workers[worker]!, delay: 0 } as const)
        : outcome === 'freeze'
          ? ({ kind: 'freeze', duration: delay * TICK } as const)
          : ({ kind: 'completed', result: undefined } as const)
    const report = { ...this.#handed(job, epoch), outcome: said }
    const full = startedAt === undefined ? report : { ...report, startedAt: this.#instant(startedAt) }
    return (await this.#backend.verbs.finish(0, [full], this.#now))[0]!.isMine
  }
}
