import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import type { HistoryEvent } from '../../src/conformance/history.ts'
import { SECOND } from '../../src/core/duration.ts'
import { parseLimit } from '../../src/core/limit.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import type { RedisBackend } from '../../src/redis/redis-backend.ts'
import type { FinishOutcome } from '../../src/redis/verbs/finish.ts'
import type { GateAnswer } from '../../src/redis/verbs/gate.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at, request } from './backend-driver.ts'
import { recount } from './recount.ts'
import { viewsOf } from './redis-driver.ts'
import { callerOf, TraceCallers } from './trace-callers.ts'
import { TraceSpacing } from './trace-spacing.ts'

const MS = 1_000
const LEASE = 3 * SECOND
const CLAIM_LEASE = 2 * SECOND
const SETTINGS = {
  attempts: 5,
  backoff: { type: 'fixed', delayMs: 1, maxDelayMs: 1, jitter: 0 },
  timeoutMs: 1_000,
} as const
/** How often a drain may look before a job counts as stuck. */
const MOST_LOOKS = 5_000

export type Ending = Exclude<FinishOutcome, { kind: 'back' }>

/** - fresh: delivered; granted: it has a slot; started: its handler runs; reported: the store knows of it; gone: over */
type DeliveryState = 'fresh' | 'granted' | 'started' | 'reported' | 'gone'

export interface Delivery extends HandedJob {
  readonly key: string
  readonly worker: string
  state: DeliveryState
  grant: Extract<GateAnswer, { kind: 'granted' }> | undefined
  missed: number | undefined
  askAt: number
  /** When the lease ends, as far as its worker knows. */
  lease: number
  startedAt: number
  outcome: Ending | undefined
}

interface Job {
  readonly id: string
  readonly key: string
  ended: string | undefined
  crashes: number
}

/**
 * One shard, and what its producers and callers, one scheduler and two workers do with it, step by step, on a time of its own.
 * Knows all that happened, also where an answer was lost on its way.
 */
export class LineTrace {
  readonly keys: readonly string[]
  readonly history: HistoryEvent[] = []
  readonly jobs: Job[] = []
  readonly deliveries: Delivery[] = []
  readonly callers: TraceCallers
  now = at(0)
  readonly #backend: RedisBackend
  readonly #redis: Redis
  readonly #spacing = new TraceSpacing()
  /** By job and epoch: its slot, and since when it has it. */
  readonly #granted = new Map<string, { readonly slot: number; readonly since: number }>()
  /** By job, epoch and worker. */
  readonly #expired = new Set<string>()

  constructor(backend: RedisBackend, redis: Redis, limit: string, keys = ['a', 'b']) {
    this.keys = keys
    this.#backend = backend
    this.#redis = redis
    this.callers = new TraceCallers(backend, redis)
    this.#noteLimit(limit)
  }

  /** All that adds up, adds up. */
  async counts(): Promise<void> {
    expect(await recount(this.#redis, this.#backend.store.tags[0]!)).toEqual([])
  }

  /** @param caller whose turn it is; absent: a job */
  async admit(key: string, cost: number, patience: number | undefined, caller?: number): Promise<void> {
    const { now } = this
    const number = this.jobs.length
    const id = caller === undefined ? `j${number}` : this.callers.ask(caller, number)
    const deadline = patience ?? Number.POSITIVE_INFINITY
    const asked = request(id, { key, cost, settings: SETTINGS, deadline })
    const { admission } = await this.#backend.verbs.admit(asked, now)
    const { accepted } = admission
    this.jobs.push({ id, key, ended: accepted ? undefined : 'rejected', crashes: 0 })
    if (!accepted) return void this.callers.waiting.delete(id)
    this.#note({ type: 'answer', at: now, id, key, cost, accepted, departsAt: admission.departsAt * MS })
  }

  /** `fates`: for each job, whether it is lost on its way, delivered once, or delivered to both workers. */
  async claim(lookAhead: number, most: number, fates: readonly number[]) {
    const asked = { scheduler: 's', lookAhead, most, lease: CLAIM_LEASE + lookAhead }
    const claim = await this.#backend.verbs.claim(0, asked, this.now)
    for (const [index, job] of claim.jobs.entries()) {
      const fate = fates[index % fates.length]!
      const workers = [['w1'], ['w2'], ['w1', 'w2'], []][fate]!
      for (const worker of workers) this.#deliver(job, worker)
    }
    for (const [index, turn] of (await this.callers.fetch()).entries()) {
      const isLost = fates[index % fates.length] === 3
      if (!isLost && this.callers.waiting.has(turn.id)) this.#deliver(turn, callerOf(turn.id)!)
    }
    return claim
  }

  /** `isHeard` false: the answer is lost. */
  async gate(delivery: Delivery, isHeard: boolean): Promise<void> {
    const { id, epoch, worker, missed } = delivery
    const asked = { id, epoch, worker, lead: 0, error: 0, lease: LEASE }
    const requests = [missed === undefined ? asked : { ...asked, missed }]
    const answer = (await this.#backend.verbs.gate(0, requests, this.now)).answers[0]!
    // Reported again to the same worker, which asks again only where it has not heard.
    const asking = `${nameOf(delivery)} ${worker}`
    if (answer.kind === 'expired' && !this.#expired.has(asking)) {
      this.#expired.add(asking)
      this.#end(id, 'expired')
    }
    if (answer.kind === 'granted' && this.#granted.get(nameOf(delivery))?.slot !== answer.slot) {
      this.#granted.set(nameOf(delivery), { slot: answer.slot, since: this.now })
    }
    if (!isHeard) return
    if (answer.kind === 'granted') {
      Object.assign(delivery, { grant: answer, state: 'granted', lease: this.now + LEASE })
    } else if (answer.kind === 'wait') Object.assign(delivery, { askAt: answer.until, state: 'fresh' })
    else delivery.state = 'gone'
  }

  /** Starts the handler of one that was granted a slot; where it is too late, asks for another. */
  async start(delivery: Delivery, isHeard: boolean): Promise<void> {
    const { startAt, latest, slot } = delivery.grant!
    if (this.now < startAt) return
    if (this.now > latest || this.now >= delivery.lease) {
      delivery.missed = slot
      return this.gate(delivery, isHeard)
    }
    const { id, key } = delivery
    const { cost, attempt } = delivery.grant!.job
    expect(this.#job(id).ended, `${id} starts`).toBeUndefined()
    this.#spacing.start({ id, key, cost }, this.#granted.get(nameOf(delivery))!.since, this.now)
    delivery.state = 'started'
    delivery.startedAt = this.now
    this.callers.waiting.delete(id)
    this.#note({ type: 'start', at: this.now, id, key, cost, attempt })
  }

  async tellStart(delivery: Delivery): Promise<void> {
    const { id, epoch, startedAt } = delivery
    const [answer] = await this.#backend.verbs.start(0, [{ id, epoch, startedAt }], this.now)
    if (answer === 'lost') this.#expectLost(delivery)
    else if (delivery.state === 'started') delivery.state = 'reported'
  }

  /** Ends a handler, or reports its end once more. */
  async finish(delivery: Delivery, ending: Ending, isHeard: boolean): Promise<void> {
    const { now } = this
    const { id, epoch, key, startedAt, state } = delivery
    const isAgain = delivery.outcome !== undefined
    delivery.outcome ??= callerOf(id) === undefined ? ending : COMPLETED
    const report = { id, epoch, outcome: delivery.outcome }
    const reports = [state === 'started' ? { ...report, startedAt } : report]
    const { isMine, readyAt } = (await this.#backend.verbs.finish(0, reports, now))[0]!
    if (isHeard) delivery.state = 'gone'
    if (isAgain) return
    if (!isMine) return this.#expectLost(delivery)
    const { outcome } = delivery
    if (outcome.kind === 'completed' || outcome.kind === 'failed') return this.#end(id, outcome.kind)
    if (outcome.kind === 'freeze') {
      this.#note({ type: 'freeze', at: now, key, until: now + outcome.duration })
    }
    this.#note({ type: 'return', at: now, id, reason: outcome.kind, readyAt: readyAt! })
  }

  /** A worker that closes, or has no handler. Where the job was delivered to both, it cannot give back what the other has. */
  async giveBack(delivery: Delivery, delay: number): Promise<void> {
    const { id, epoch, worker } = delivery
    delivery.state = 'gone'
    const outcome = { kind: 'back', worker, delay } as const
    const { isMine } = (await this.#backend.verbs.finish(0, [{ id, epoch, outcome }], this.now))[0]!
    const twin = this.deliveries.find(
      (other) => other !== delivery && other.id === id && other.epoch === epoch,
    )
    const hasSlot = twin !== undefined && twin.state !== 'fresh' && twin.state !== 'gone'
    if (isMine && hasSlot && twin.lease > this.now) expect(twin.state, `${id} was given back`).toBe('gone')
  }

  /** The worker renews what it holds. */
  async renew(worker: string): Promise<void> {
    const held = this.live('granted', 'started', 'reported').filter((delivery) => delivery.worker === worker)
    const named = held.map(({ id, epoch }) => ({ id, epoch }))
    if (named.length === 0) return
    const answers = await this.#backend.verbs.renew(0, named, LEASE, this.now)
    for (const [index, delivery] of held.entries()) if (answers[index]) delivery.lease = this.now + LEASE
  }

  /** A process renews what was handed to it, and the places of its callers. */
  async renewPlaces(which: number): Promise<void> {
    const caller = this.callers.named(which)
    await this.renew(caller)
    const ids = this.callers.waitingOf(caller)
    if (ids.length === 0) return
    const places = ids.map((id) => ({ id, epoch: 0 }))
    const answers = await this.#backend.verbs.renew(0, places, LEASE, this.now)
    for (const [index, id] of ids.entries()) {
      expect(answers[index], `the place of ${id}`).toBe(this.#job(id).ended === undefined)
      if (!answers[index]) this.callers.waiting.delete(id)
    }
  }

  /** A caller gives up its place, wherever it is. */
  async leave(which: number): Promise<void> {
    const waiting = [...this.callers.waiting]
    const id = waiting[which % Math.max(1, waiting.length)]
    if (id === undefined) return
    this.callers.waiting.delete(id)
    for (const delivery of this.deliveries) if (delivery.id === id) delivery.state = 'gone'
    const job = await this.#backend.verbs.leave(id, this.now)
    expect(job !== undefined, `${id} leaves`).toBe(this.#job(id).ended === undefined)
    if (job !== undefined) this.#end(id, 'cancelled')
  }

  /** A process with callers dies: no caller hears of its turns any more. */
  kill(which: number): void {
    const caller = this.callers.kill(which)
    for (const delivery of this.deliveries) if (delivery.worker === caller) delivery.state = 'gone'
  }

  async recover(): Promise<void> {
    const { jobs } = await this.#backend.verbs.recover(0, {}, this.now)
    for (const { id, crashed, failed, gone, lapsed } of jobs) {
      if (gone) this.#end(id, 'cancelled')
      if (failed && callerOf(id) !== undefined) this.#noteDeparture(id)
      if (crashed || lapsed) {
        this.#job(id).crashes++
        this.#note({ type: 'fault', at: this.now, id })
      }
      if (failed || lapsed) this.#end(id, 'failed')
    }
  }

  async expire(): Promise<void> {
    for (const { id } of await this.#backend.verbs.expire(0, this.now)) this.#end(id, 'expired')
  }

  async cancel(which: number): Promise<void> {
    const job = this.jobs[which % Math.max(1, this.jobs.length)]
    if (job === undefined) return
    if ((await this.#backend.verbs.cancel(job.id, this.now)) !== undefined) this.#end(job.id, 'cancelled')
  }

  async freeze(key: string, duration: number): Promise<void> {
    const { until } = await this.#backend.verbs.freeze(key, duration, this.now)
    this.#note({ type: 'freeze', at: this.now, key, until })
  }

  async unfreeze(key: string): Promise<void> {
    const { isLifted } = await this.#backend.verbs.unfreeze(key, this.now)
    if (isLifted) this.#note({ type: 'unfreeze', at: this.now, key })
  }

  async hold(how: 'pause' | 'resume', key: string): Promise<void> {
    await this.#backend.verbs[how](key, this.now)
    this.#note({ type: how, at: this.now, key })
  }

  async setLimit(limit: string): Promise<void> {
    await this.#backend.rules.change({ kind: 'set', rule: parseRule('*', limit) }, this.now)
    this.#noteLimit(limit)
  }

  /** As after a restart of Redis. */
  async restart(): Promise<void> {
    await this.#redis.hset(`${this.#backend.store.tags[0]!}:meta`, 'run', 'another')
  }

  live(...states: readonly DeliveryState[]): Delivery[] {
    return this.deliveries.filter(({ state }) => states.includes(state))
  }

  /** With workers that do all right, until every job has ended. */
  async drain(): Promise<void> {
    for (const key of this.keys) await this.hold('resume', key)
    for (const delivery of this.live('started', 'reported')) await this.finish(delivery, COMPLETED, true)
    for (const delivery of this.live('fresh', 'granted')) delivery.state = 'gone'
    for (let look = 0; this.jobs.some(({ ended }) => ended === undefined); look++) {
      expect(look, 'looks of the drain').toBeLessThan(MOST_LOOKS)
      for (const which of this.callers.alive.keys()) await this.renewPlaces(which)
      await this.expire()
      await this.recover()
      const { nextClaim, nextForgetting, nextRecovery, nextExpiry } = await this.claim(0, 200, [0])
      for (const delivery of this.live('fresh').filter(({ askAt }) => askAt <= this.now)) {
        await this.gate(delivery, true)
      }
      const granted = this.live('granted').sort((one, other) => one.grant!.startAt - other.grant!.startAt)
      for (const delivery of granted) {
        this.now = Math.max(this.now, delivery.grant!.startAt)
        await this.start(delivery, true)
        if (delivery.state === 'started') await this.finish(delivery, COMPLETED, true)
      }
      await this.counts()
      if (granted.length > 0 || this.jobs.every(({ ended }) => ended !== undefined)) continue
      const asks = this.live('fresh').map(({ askAt }) => askAt)
      this.now = Math.max(
        this.now + MS,
        Math.min(nextClaim, nextForgetting, nextRecovery, nextExpiry, ...asks),
      )
    }
  }

  /** Everything was forgotten but the jobs that ended. */
  async leavesNothing(): Promise<void> {
    this.now += 3_600 * SECOND
    await this.claim(0, 1, [0])
    const left = await this.#redis.hlen(`${this.#backend.store.tags[0]!}:buckets`)
    expect(left).toBe(0)
    const known = await this.#redis.hkeys(`${this.#backend.store.tags[0]!}:jobs`)
    expect(known.filter((id) => callerOf(id) !== undefined)).toEqual([])
    const { admitted, ended } = await viewsOf(this.#backend).audit()
    expect(ended).toBe(admitted)
    expect(admitted).toBe(this.jobs.filter((job) => job.ended !== 'rejected').length)
  }

  #deliver(job: HandedJob & { readonly key: string }, worker: string): void {
    this.deliveries.push({
      ...job,
      worker,
      state: 'fresh',
      grant: undefined,
      missed: undefined,
      askAt: this.now,
      lease: 0,
      startedAt: 0,
      outcome: undefined,
    })
  }

  /**
   * Whether the caller departed before its process died is unknown: it counts as if it did so, at the slot that it was granted. Its bucket
   * waited for it, but those that share a total with it went on.
   */
  #noteDeparture(id: string): void {
    if (this.history.some((event) => event.type === 'start' && event.id === id)) return
    const answer = this.history.find((event) => event.type === 'answer' && event.id === id)
    if (answer?.type !== 'answer') throw new Error(`${id} was not admitted`)
    const { key, cost } = answer
    const slots = [...this.#granted].filter(([name]) => name.startsWith(`${id} `)).map(([, { slot }]) => slot)
    const at = Math.min(this.now, Math.max(...slots))
    const later = this.history.findIndex((event) => event.at > at)
    this.history.splice(later === -1 ? this.history.length : later, 0, {
      type: 'start',
      at,
      id,
      key,
      cost,
      attempt: 1,
    })
  }

  #job(id: string): Job {
    return this.jobs.find((job) => job.id === id)!
  }

  /** Only a delivery that lost its lease may be refused. */
  #expectLost(delivery: Delivery): void {
    delivery.state = 'gone'
    expect(this.#job(delivery.id).crashes, `crashes of ${delivery.id}, which was refused`).toBeGreaterThan(0)
  }

  #end(id: string, outcome: 'completed' | 'failed' | 'cancelled' | 'expired'): void {
    const job = this.#job(id)
    expect(job.ended, `${id} ${outcome}`).toBeUndefined()
    job.ended = outcome
    this.#note({ type: 'end', at: this.now, id, outcome })
  }

  #noteLimit(text: string): void {
    const limit = parseLimit(text)
    this.#spacing.setLimit(limit, this.now)
    for (const key of this.keys) this.#note({ type: 'limit', at: this.now, key, limit })
  }

  #note(event: HistoryEvent): void {
    this.history.push(event)
  }
}

const nameOf = ({ id, epoch }: HandedJob) => `${id} ${epoch}`
const COMPLETED = { kind: 'completed', result: undefined } as const
