import type { Redis } from 'ioredis'
import { parseRule } from '../../../src/core/rule-book.ts'
import type { RedisBackend } from '../../../src/redis/redis-backend.ts'
import { SETTINGS } from '../../support/backend-driver.ts'
import type { Call } from '../actors/calls.ts'
import { LATE_CLAIM } from '../actors/schedulers.ts'
import type { World } from '../actors/world.ts'
import { TICK } from '../durations.ts'
import type { ModelLimit } from '../setup.ts'
import { LATE_SENDER } from '../store/shard.ts'
import { differenceFrom, type Names } from './compare.ts'
import { viewOf } from './view.ts'

/** Two processes' worth of backends on one line. */
export type Backends = readonly [RedisBackend, RedisBackend]

export function limitText(
  { capacity, interval, tolerance, quotas = [], places }: ModelLimit,
  weight = 1,
): string {
  const milliseconds = (ticks: number) => `${(ticks * TICK) / 1_000}ms`
  const windows = quotas.map(({ amount, window, each }) =>
    each === undefined
      ? `${amount}/${milliseconds(window)}`
      : `${amount} tokens/${milliseconds(window)} ${each} each`,
  )
  const atOnce = places === undefined ? [] : [`${places} at once`]
  const pace = `${capacity}, every ${milliseconds(interval)}, tolerance ${milliseconds(tolerance)}`
  const share = weight === 1 ? [] : [`weight ${weight}`]
  return [pace, ...windows, ...atOnce, ...share].join(', ')
}

/** Repeats on the real scripts what the model does, at the model's time, and compares answers and states. */
export class Mirror implements Names {
  readonly ids: readonly string[]
  readonly #backends: Backends
  readonly #redis: Redis
  readonly #world: World
  /** By job and epoch of the model, that of the store. */
  readonly #epochs = new Map<string, number>()
  /** By the names of the model, those of processes. */
  readonly workers = ['', 'w1', 'w2', 'frozen', '', '', '']
  readonly schedulers = ['', 's1', 's2', '', '', '', '']
  /** By job and epoch of the model, the fence of the attempt in the store. */
  readonly #fences = new Map<string, number>()
  /** What follows cannot be compared. */
  isOver = false
  #lastEpoch = 0
  #lastFence = 0
  #now: number

  constructor(world: World, backends: Backends, redis: Redis, beginsAt: number) {
    this.#world = world
    this.#backends = backends
    this.#redis = redis
    this.#now = beginsAt
    this.ids = world.setup.jobs.map((_, job) => 'abcdefgh'[job]!)
  }

  /** Time passes, or the clock of the store is moved. */
  advance(ticks: number): void {
    this.#now += ticks * TICK
  }

  instant(ticks: number): number {
    return this.#now + Math.round(ticks * TICK)
  }

  epoch(job: number, epoch: number): number | undefined {
    return this.#epochs.get(`${job} ${epoch}`)
  }

  worker(name: number): string | undefined {
    return this.workers[name] || undefined
  }

  scheduler(name: number): string | undefined {
    return this.schedulers[name] || undefined
  }

  /** A process is killed, and the one that takes its place has another name. */
  replace(what: 'workers' | 'schedulers', way: number): void {
    const names = this[what]
    const before = names[way + 1]!
    names[way + 1] = `${before}'`
    const { worker, verb } = this.#world.late
    if (worker === LATE_SENDER && (verb === LATE_CLAIM) === (what === 'schedulers'))
      names[LATE_SENDER] ||= before
  }

  /** After a restart the server has another name. */
  async restart(): Promise<void> {
    await this.#redis.hset(`${this.#backends[0].store.tags[0]!}:meta`, 'run', 'another')
  }

  /** The first difference between the two, after the calls of one step; undefined: there is none. */
  async follow(calls: readonly Call[]): Promise<string | undefined> {
    for (const call of calls) {
      const [model, store] = await this.#repeat(call)
      const [expected, found] = [JSON.stringify(model), JSON.stringify(store)]
      if (expected !== found) return `${call.verb}: ${expected} in the model, ${found} in the store`
    }
    // What was on its way has arrived.
    if (this.#world.late.verb === 0) this.workers[LATE_SENDER] = this.schedulers[LATE_SENDER] = ''
    const view = await viewOf(this.#redis, this.#backends[0].store.tags[0]!, 'a', this.ids)
    // What quotas count moves with a clock that was set forward, which the model leaves out.
    this.isOver = view.isForward
    if (this.isOver) return undefined
    return differenceFrom(this.#world, view, this)
  }

  /** What the model has answered, and what the store does. */
  async #repeat(call: Call): Promise<readonly [unknown, unknown]> {
    const { verbs } = this.#backends[0]
    const now = this.#now
    switch (call.verb) {
      case 'admit':
        return [verdictOf(call.answer), verdictOf(await this.#admit(call.job))]
      case 'claim':
        return this.#claim(call)
      case 'gate':
        return this.#gate(call)
      case 'start': {
        const { job, epoch, startedAt } = call
        const report = { ...this.#handed(job, epoch), startedAt: this.instant(startedAt) }
        return [call.answer, (await verbs.start(0, [report], now))[0] !== 'lost']
      }
      case 'finish':
        return [call.answer, await this.#finish(call)]
      case 'renew': {
        const jobs = call.jobs.map(({ job, epoch }) => this.#handed(job, epoch))
        return [call.answer, await verbs.renew(0, jobs, this.#world.setup.durations.lease * TICK, now)]
      }
      case 'settle':
        return [call.answer, await this.#settle(call)]
      case 'recover': {
        const { jobs: lost } = await verbs.recover(0, {}, now)
        const fate = ({ crashed, failed }: (typeof lost)[number]) =>
          failed ? 'failed' : crashed ? 'crashed' : 'waits'
        const expected = call.answer.map(({ job, epoch, fate }) => [
          this.ids[job],
          this.epoch(job, epoch),
          fate,
        ])
        return [expected, lost.map((job) => [job.id, job.epoch, fate(job)])]
      }
      case 'expire':
        return [call.answer.map((job) => this.ids[job]), (await verbs.expire(0, now)).map(({ id }) => id)]
      case 'cancel':
        return [call.answer, (await verbs.cancel(this.ids[call.job]!, now)) !== undefined]
      case 'freeze':
        return [undefined, void (await verbs.freeze('a', call.duration * TICK, now))]
      case 'unfreeze':
        return [call.answer, (await verbs.unfreeze('a', now)).isLifted]
      case 'pause':
      case 'resume':
        return [undefined, void (await verbs[call.verb]('a', now))]
      case 'changeRule':
        return [undefined, void (await this.#changeRule(call.limit))]
      case 'quarantine': {
        const { reason, by, reporter } = call
        return [undefined, await this.#backends[reporter]!.verbs.quarantine(0, now, reason, by * TICK)]
      }
      case 'resign':
        return [undefined, void (await verbs.resign(0, this.schedulers[call.scheduler]!))]
    }
  }

  #handed(job: number, epoch: number) {
    return { id: this.ids[job]!, epoch: this.epoch(job, epoch) ?? 0 }
  }

  async #admit(job: number): Promise<string> {
    const { cost, deadline, tokens } = this.#world.setup.jobs[job]!
    const costs = tokens === undefined ? {} : { costs: { tokens } }
    const asked = { id: this.ids[job]!, key: 'a', data: '1', cost, ...costs, settings: SETTINGS }
    const wait = deadline === undefined ? Number.POSITIVE_INFINITY : deadline * TICK
    const { admission } = await this.#backends[0].verbs.admit({ ...asked, deadline: wait }, this.#now)
    return admission.accepted ? 'yes' : admission.reason
  }

  async #claim({
    scheduler,
    answer,
  }: Extract<Call, { verb: 'claim' }>): Promise<readonly [unknown, unknown]> {
    const { durations, lookAhead } = this.#world.setup
    const asked = { scheduler: this.schedulers[scheduler]!, lookAhead: lookAhead * TICK, most: 200 }
    const lease = durations.claimLease * TICK
    const claim = await this.#backends[0].verbs.claim(0, { ...asked, lease }, this.#now)
    for (const [index, { epoch }] of claim.jobs.entries()) {
      if (epoch <= this.#lastEpoch) return ['epochs that grow', `${epoch} after ${this.#lastEpoch}`]
      this.#lastEpoch = epoch
      const job = answer?.[index]
      if (job !== undefined) this.#epochs.set(`${job} ${this.#world.shard.jobs[job]!.epoch}`, epoch)
    }
    const store = claim.isElected ? claim.jobs.map(({ id }) => id) : undefined
    return [answer?.map((job) => this.ids[job]), store]
  }

  async #gate(call: Extract<Call, { verb: 'gate' }>): Promise<readonly [unknown, unknown]> {
    const { job, epoch, worker, missed } = call
    const lease = this.#world.setup.durations.lease * TICK
    const asked = { ...this.#handed(job, epoch), worker: this.workers[worker]!, lead: 0, error: 0, lease }
    const request = missed === undefined ? asked : { ...asked, missed: this.instant(missed) }
    const [answer] = (await this.#backends[0].verbs.gate(0, [request], this.#now)).answers
    if (call.answer.kind !== 'granted' || answer?.kind !== 'granted') return [call.answer.kind, answer?.kind]
    const { slot, startAt } = call.answer
    const { fence } = answer.job
    if (fence < this.#lastFence) return ['fences that grow', `${fence} after ${this.#lastFence}`]
    this.#lastFence = fence
    this.#fences.set(`${job} ${epoch}`, fence)
    return [
      ['granted', this.instant(slot), this.instant(startAt)],
      ['granted', answer.slot, answer.startAt],
    ]
  }

  async #finish(call: Extract<Call, { verb: 'finish' }>): Promise<boolean> {
    const { job, epoch, worker, startedAt, outcome, delay } = call
    const outcomes = {
      completed: { kind: 'completed', result: undefined },
      retry: { kind: 'retry', error: 'as planned', delay: delay * TICK },
      freeze: { kind: 'freeze', duration: delay * TICK },
      back: { kind: 'back', worker: this.workers[worker]!, delay: delay * TICK },
    } as const
    const report = { ...this.#handed(job, epoch), outcome: outcomes[outcome] }
    const full = startedAt === undefined ? report : { ...report, startedAt: this.instant(startedAt) }
    return (await this.#backends[0].verbs.finish(0, [full], this.#now))[0]!.isMine
  }

  async #settle({ job, epoch, startedAt, tokens }: Extract<Call, { verb: 'settle' }>): Promise<boolean> {
    const fence = this.#fences.get(`${job} ${epoch}`) ?? 0
    const asked = { id: this.ids[job]!, key: 'a', fence, amounts: { tokens } }
    const full = startedAt === undefined ? asked : { ...asked, startedAt: this.instant(startedAt) }
    return this.#backends[0].verbs.settle(full, this.#now)
  }

  async #changeRule(limit: number): Promise<void> {
    const rule = parseRule('*', limitText(this.#world.setup.limits[limit]!))
    await this.#backends[0].rules.change({ kind: 'set', rule }, this.#now)
  }
}

/** Where a job does not fit and would also be too late, the model does not say which of the two the store names. */
function verdictOf(verdict: string): string {
  if (verdict === 'again') return 'yes'
  return verdict === 'full' || verdict === 'deadline' ? 'refused' : verdict
}
