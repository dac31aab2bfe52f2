import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { bucketQuerySchema } from '../../src/line/bucket-query.ts'
import type { JobRequest } from '../../src/line/job.ts'
import type { RedisBackend } from '../../src/redis/redis-backend.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import type { ClaimRequest } from '../../src/redis/verbs/claim.ts'
import type { FinishOutcome } from '../../src/redis/verbs/finish.ts'
import type { Follower, FollowRequest } from '../../src/redis/verbs/follow.ts'
import type { GateRequest } from '../../src/redis/verbs/gate.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import type { RedisViews } from '../../src/redis/views/redis-views.ts'
import { at, request } from '../support/backend-driver.ts'
import { lookAt, openRedisBackend, type RedisOptions, viewsOf } from '../support/redis-driver.ts'
import { uniquePrefix } from '../support/redis-server.ts'

export const COMPLETED: FinishOutcome = { kind: 'completed', result: undefined }
/** By the worker that `gate` names. */
export const BACK: FinishOutcome = { kind: 'back', worker: 'w1' }

type Options = Omit<RedisOptions, 'limits'> & { readonly client?: Redis }

/** One backend on Redis, asked as schedulers and workers ask. Times are seconds after a fixed noon. */
export class RedisStage {
  readonly backend: RedisBackend
  readonly views: RedisViews
  readonly prefix: string
  readonly redis: Redis
  /** Time passes without a call; otherwise a worker that holds nothing is heard each second. */
  isSilent = false
  #heardAt: number | undefined

  constructor(backend: RedisBackend, prefix: string, redis: Redis) {
    this.backend = backend
    this.views = viewsOf(backend)
    this.prefix = prefix
    this.redis = redis
  }

  static async open(limits: string | RedisOptions['limits'], options: Options = {}): Promise<RedisStage> {
    const { prefix = uniquePrefix(), client = lookAt(), ...others } = options
    const book = typeof limits === 'string' ? { '*': limits } : limits
    return new RedisStage(await openRedisBackend({ ...others, prefix, limits: book }), prefix, client)
  }

  /** When the head starts if it is tried each tenth of a second, in seconds. */
  async startOfHead(from: number, until: number): Promise<number> {
    for (let tenth = Math.ceil(from * 10); tenth <= until * 10; tenth++) {
      const [job] = await this.hand(tenth / 10, 100)
      const answer = job && (await this.gate(job, tenth / 10))
      if (answer?.kind === 'granted') return (answer.startAt - at(0)) / SECOND
    }
    return Number.POSITIVE_INFINITY
  }

  get tag(): string {
    return this.backend.store.tags[0]!
  }

  admit(id: string, seconds: number, part: Partial<JobRequest> = {}) {
    const { deadline, ...asked } = request(id, part)
    return this.backend.verbs.admit({ ...asked, deadline: deadline - at(seconds) }, at(seconds))
  }

  /** Admits jobs whose ids are one letter each. */
  async lineUp(ids: string, seconds: number, part: Partial<JobRequest> = {}): Promise<void> {
    for (const id of ids) {
      const { admission } = await this.admit(id, seconds, part)
      expect(admission).toMatchObject({ accepted: true, id })
    }
  }

  async #pass(seconds: number): Promise<void> {
    if (!this.isSilent && this.#heardAt !== undefined) {
      for (let beat = this.#heardAt + 1; beat < seconds; beat++)
        await this.backend.verbs.renew(0, [], 0, at(beat))
    }
    this.#heardAt = seconds
  }

  async claim(seconds: number, part: Partial<ClaimRequest> = {}) {
    await this.#pass(seconds)
    const asked = { scheduler: 's1', lookAhead: 0, most: 200, lease: 30 * SECOND, ...part }
    return this.backend.verbs.claim(0, asked, at(seconds))
  }

  /** The ids of the jobs that are handed over within the look-ahead. */
  async hand(seconds: number, lookAheadMs = 0): Promise<HandedJob[]> {
    const { jobs } = await this.claim(seconds, { lookAhead: lookAheadMs * MILLISECOND })
    return jobs.map(({ id, epoch }) => ({ id, epoch }))
  }

  async gate(job: HandedJob, seconds: number, part: Partial<GateRequest> = {}) {
    await this.#pass(seconds)
    const asked = { worker: 'w1', lead: 0, error: 0, lease: 30 * SECOND, ...job, ...part }
    return (await this.backend.verbs.gate(0, [asked], at(seconds))).answers[0]!
  }

  /** The next jobs of a fast bucket, for the worker that has the one of that epoch. */
  async follow(known: number, seconds: number, part: Partial<FollowRequest & Follower> = {}) {
    await this.#pass(seconds)
    const { worker = 'w1', lease = 30 * SECOND, error = 0, ...asked } = part
    const request = { key: 'a', known, most: 25, ...asked }
    const { now, answers } = await this.backend.verbs.follow(
      0,
      { worker, lease, error },
      [request],
      at(seconds),
    )
    return { now, ...answers[0]! }
  }

  async start(job: HandedJob, seconds: number): Promise<boolean> {
    await this.#pass(seconds)
    const [answer] = await this.backend.verbs.start(0, [{ ...job, startedAt: at(seconds) }], at(seconds))
    return answer !== 'lost'
  }

  async finish(job: HandedJob, outcome: FinishOutcome, seconds: number, startedAt?: number) {
    await this.#pass(seconds)
    const report = { ...job, outcome, ...(startedAt !== undefined && { startedAt: at(startedAt) }) }
    return (await this.backend.verbs.finish(0, [report], at(seconds)))[0]!
  }

  async renew(job: HandedJob, leaseSeconds: number, seconds: number): Promise<boolean> {
    await this.#pass(seconds)
    return (await this.backend.verbs.renew(0, [job], leaseSeconds * SECOND, at(seconds)))[0]!
  }

  async recover(seconds: number) {
    await this.#pass(seconds)
    return (await this.backend.verbs.recover(0, {}, at(seconds))).jobs
  }

  /** The clock of Redis is set to that time, and no process has noticed. */
  setClock(seconds: number): void {
    this.#heardAt = seconds
  }

  /** This process has seen the clock jump to that time, by so many microseconds. */
  jump(seconds: number, by?: number): Promise<void> {
    this.#heardAt = seconds
    return this.backend.verbs.quarantine(0, at(seconds), 'jump', by)
  }

  /** It has seen a small step forward, of so many microseconds. */
  step(seconds: number, by: number): Promise<void> {
    this.#heardAt = seconds
    return this.backend.verbs.quarantine(0, at(seconds), 'step', by)
  }

  async state(id: string, seconds = 0): Promise<string | undefined> {
    return (await this.views.job(id, at(seconds)))?.state
  }

  inspect(key: string, seconds: number) {
    return this.views.inspect(key, at(seconds))
  }

  list(seconds: number) {
    return this.views.buckets(bucketQuerySchema.parse({ sort: 'key' }), at(seconds))
  }

  /** Starts the head, which must be due. */
  async run(seconds: number): Promise<HandedJob> {
    const [job] = await this.hand(seconds)
    expect(await this.gate(job!, seconds)).toMatchObject({ kind: 'granted' })
    expect(await this.start(job!, seconds)).toBe(true)
    return job!
  }

  /** Nobody was lost: every job that was admitted is in one state. */
  async balances(): Promise<void> {
    const { admitted, waiting, handed, running, retrying, ended } = await this.views.audit()
    expect(waiting + handed + running + retrying + ended).toBe(admitted)
  }

  /** All keys of the shaper with their values, byte by byte; except the times of last contact, which any call may change. */
  async dump(): Promise<Record<string, string>> {
    const found: Record<string, string> = {}
    for await (const page of this.redis.scanStream({ match: `{${this.prefix}:*`, count: 1_000 })) {
      for (const name of page.map(String)) {
        if (name === shardKey(this.tag, 'meta') && (await this.redis.type(name)) === 'hash') {
          const { heardAt: _, ...meta } = await this.redis.hgetall(name)
          found[name] = JSON.stringify(meta)
          continue
        }
        const value = await this.redis.dumpBuffer(name)
        if (value !== null) found[name] = value.toString('base64')
      }
    }
    return found
  }

  /** Puts everything back as `dump` found it. */
  async restore(dump: Readonly<Record<string, string>>): Promise<void> {
    const names = Object.keys(await this.dump())
    if (names.length > 0) await this.redis.del(...names)
    for (const [name, value] of Object.entries(dump)) {
      if (name === shardKey(this.tag, 'meta')) await this.redis.hset(name, JSON.parse(value))
      else await this.redis.restore(name, 0, Buffer.from(value, 'base64'))
    }
  }
}
