import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { HOUR, MILLISECOND } from '../../src/core/duration.ts'
import { differenceOf, parseLayer } from '../../src/core/layered-book.ts'
import type { LimitInput } from '../../src/core/limit.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import type { RuleChange } from '../../src/core/rule-layers.ts'
import type { BaseOrigin } from '../../src/core/rule-view.ts'
import type { Costs } from '../../src/core/usage.ts'
import { type BucketQueryInput, bucketQuerySchema } from '../../src/line/bucket-query.ts'
import { type FamilyQueryInput, familyQuerySchema } from '../../src/line/family-query.ts'
import { type Retention, retentionOf } from '../../src/line/options.ts'
import type { WhichStart } from '../../src/line/settle.ts'
import { Connection } from '../../src/redis/connection/connection.ts'
import { type ConnectionInput, parseConnection } from '../../src/redis/connection/connection-input.ts'
import { RedisBackend } from '../../src/redis/redis-backend.ts'
import { inboxKey, shardKey } from '../../src/redis/scripts/keys.ts'
import type { FinishOutcome } from '../../src/redis/verbs/finish.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import type { Verbs } from '../../src/redis/verbs/verbs.ts'
import { RedisViews } from '../../src/redis/views/redis-views.ts'
import { atFileEnd } from './at-file-end.ts'
import { at, type Driver, type Ending, type Request, type Started, TURN_CALLER } from './backend-driver.ts'
import { redisAddress, uniquePrefix } from './redis-server.ts'

export interface RedisOptions {
  readonly limits: Readonly<Record<string, LimitInput>>
  readonly limitsFrom?: BaseOrigin
  readonly limitsBy?: string
  /** When it is opened. Default: now. */
  readonly openedAt?: number
  readonly keepFinished?: number | Retention
  readonly shards?: number
  readonly prefix?: string
  readonly name?: string
  /** Of another Redis than that which all tests share. */
  readonly connection?: Connection
}

let shared: Connection | undefined
let looker: Redis | undefined

/** Closed at the end of the test file at the latest. */
export function connect(input: ConnectionInput): Connection {
  const connection = new Connection(parseConnection(input), () => undefined)
  atFileEnd(() => connection.close())
  return connection
}

function connectForFile(): Connection {
  atFileEnd(() => {
    shared = undefined
  })
  return connect(redisAddress())
}

/** The one place that knows how a backend on Redis is made. */
export async function openRedisBackend(options: RedisOptions): Promise<RedisBackend> {
  const {
    limits,
    limitsFrom,
    limitsBy,
    openedAt,
    keepFinished: keep = 1_000,
    shards = 1,
    prefix = uniquePrefix(),
    name = 'test',
  } = options
  shared ??= connectForFile()
  const { connection = shared } = options
  await connection.ready()
  const backend = new RedisBackend({
    name,
    prefix,
    shards,
    connection,
    rules: parseLayer(limits, limitsFrom, limitsBy),
    retention: typeof keep === 'number' ? retentionOf({ keepFinished: keep, keepFinishedMs: 10_000 }) : keep,
  })
  await backend.open(openedAt)
  return backend
}

/** As the engine makes it, without a rule book. */
export function viewsOf(backend: RedisBackend): RedisViews {
  return new RedisViews(backend.store, {
    ready: async () => undefined,
    ruleOf: () => undefined,
    durability: () => backend.durability,
  })
}

/** A client of the test's own, to look at the shared Redis. */
export function lookAt(): Redis {
  if (looker !== undefined) return looker
  const opened = new Redis(redisAddress())
  atFileEnd(() => {
    opened.disconnect()
    looker = undefined
  })
  looker = opened
  return opened
}

export async function redisDriver(
  limits: Readonly<Record<string, LimitInput>>,
  keepFinished?: number | Retention,
  prefix = uniquePrefix(),
): Promise<RedisDriver> {
  return new RedisDriver(await openRedisBackend({ limits, keepFinished, prefix, openedAt: at(0) }), prefix)
}

/** With no look-ahead and no lead a claim, the gate and the start are one step, as they are in memory. */
export class RedisDriver implements Driver {
  readonly #backend: RedisBackend
  readonly #views: RedisViews
  readonly #prefix: string
  readonly #running = new Map<string, HandedJob>()
  readonly #started = new Map<string, Started>()
  /** What was handed over ahead and has not started. */
  readonly handed: HandedJob[] = []

  constructor(backend: RedisBackend, prefix: string) {
    this.#backend = backend
    this.#views = viewsOf(backend)
    this.#prefix = prefix
  }

  async admit(request: Request, now: number) {
    const { admission } = await this.#backend.verbs.admit(asNamed(request, now), now)
    return admission
  }

  async admitMany(requests: readonly Request[], now: number) {
    const named = requests.map((request) => asNamed(request, now))
    const answers = await this.#backend.verbs.admitMany(named, now)
    return answers.map(({ admission }) => admission)
  }

  forecast(key: string, cost: number, now: number) {
    return this.#backend.verbs.forecast(key, cost, now)
  }

  async cancel(id: string, now: number, key?: string) {
    return (await this.#backend.verbs.cancel(id, now, key)) !== undefined
  }

  async expire(now: number) {
    const ids: string[] = []
    for (;;) {
      const expired = await this.#backend.verbs.expire(0, now)
      ids.push(...expired.map(({ id }) => id))
      if (expired.length === 0) return ids
    }
  }

  async forget(now: number) {
    const idle = shardKey(this.#backend.store.tags[0]!, 'idle')
    do {
      // Buckets are forgotten by the way; looking far back, the claim finds no job to hand over.
      const { jobs } = await claim(this.#backend.verbs, now, -1_000 * HOUR)
      const handed = [...jobs, ...(await this.#turns())]
      await finishAs(this.#backend.verbs, handed, { kind: 'back', worker: 'test' }, now)
    } while ((await lookAt().zcount(idle, '-inf', now)) > 0)
  }

  /** `isReported`: its worker does not die before it says so. */
  async startNext(now: number, isReported = true): Promise<Started | undefined> {
    if (this.handed.length === 0) {
      const { jobs } = await claim(this.#backend.verbs, now, 0)
      // All turns that are due come together.
      this.handed.push(...(await this.#turns()), ...jobs)
    }
    const handed = this.handed.shift()
    if (handed === undefined) return undefined
    const started = await startHanded(this.#backend.verbs, handed, now, 0, isReported)
    this.#running.set(started.id, handed)
    this.#started.set(started.id, started)
    return started
  }

  /** Has so much handed over as departs within the look-ahead; `startNext` then starts that first, in this order. Returns how much. */
  async handAhead(lookAhead: number, most: number, now: number): Promise<number> {
    this.handed.push(...(await claim(this.#backend.verbs, now, lookAhead, most)).jobs)
    return this.handed.length
  }

  /** The worker of a job that runs dies, and its lease ends. */
  async crash(id: string, now: number): Promise<void> {
    const handed = this.#running.get(id)
    if (handed === undefined) throw new Error(`${id} does not run`)
    this.#running.delete(id)
    await this.#lose([handed], now)
  }

  /** A job that is due is handed over, and its worker dies before it starts. Returns whether one was due. */
  async loseNext(now: number): Promise<boolean> {
    const { jobs } = await claim(this.#backend.verbs, now, 0)
    await this.#lose(jobs, now)
    return jobs.length > 0
  }

  async #lose(jobs: readonly HandedJob[], now: number): Promise<void> {
    if (jobs.length === 0) return
    await this.#backend.verbs.renew(0, jobs, 0, now)
    const lost = (await this.#backend.verbs.recover(0, {}, now)).jobs
    expect(lost.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id))
  }

  /** Of the one caller that the tests have; waiting for what is not there takes its time. */
  async #turns(): Promise<HandedJob[]> {
    const isThere = await lookAt().exists(inboxKey(this.#backend.store.tags[0]!, TURN_CALLER))
    return isThere === 1 ? this.#backend.inboxes.next(0, TURN_CALLER, MILLISECOND) : []
  }

  async settle(id: string, amounts: Costs, now: number) {
    const started = this.#started.get(id)
    if (started === undefined) return false
    const { key, fence } = started
    return this.#backend.verbs.settle({ id, key, fence, amounts }, now)
  }

  async settleRunning(id: string, amounts: Costs, which: WhichStart, now: number) {
    return (await this.#backend.verbs.settleRunning({ id, amounts, which }, now)) !== undefined
  }

  async finish(id: string, ending: Ending, now: number) {
    const handed = this.#running.get(id)
    if (handed === undefined) throw new Error(`${id} does not run`)
    this.#running.delete(id)
    await finishAs(this.#backend.verbs, [handed], asOutcome(ending, now), now)
  }

  async freeze(key: string, until: number, now: number) {
    return (await this.#backend.verbs.freeze(key, until - now, now)).until
  }

  async unfreeze(key: string, now: number) {
    return (await this.#backend.verbs.unfreeze(key, now)).isLifted
  }

  async pause(key: string, now: number) {
    await this.#backend.verbs.pause(key, now)
  }

  async resume(key: string, now: number) {
    await this.#backend.verbs.resume(key, now)
  }

  async rules() {
    return this.#backend.rules.book.list()
  }

  async layers() {
    return this.#backend.rules.book.layers
  }

  async findRule(key: string) {
    return this.#backend.rules.book.find(key)
  }

  async changeRules(change: RuleChange, now: number) {
    const changed = await this.#backend.rules.change(change, now)
    return { isChanged: changed.isChanged, ...differenceOf(changed) }
  }

  async setRule(pattern: string, limit: LimitInput, now: number) {
    await this.changeRules({ kind: 'set', rule: parseRule(pattern, limit) }, now)
  }

  async unsetRule(pattern: string, now: number) {
    return (await this.changeRules({ kind: 'unset', pattern }, now)).isChanged
  }

  job(id: string, now: number, key?: string) {
    return this.#views.job(id, now, key)
  }

  inspect(key: string, now: number) {
    return this.#views.inspect(key, now)
  }

  family(path: string, now: number) {
    return this.#views.family(path, now)
  }

  families(query: FamilyQueryInput, now: number) {
    return this.#views.families(familyQuerySchema.parse(query), now)
  }

  list(query: BucketQueryInput, now: number) {
    return this.#views.buckets(bucketQuerySchema.parse(query), now)
  }

  audit() {
    return this.#views.audit()
  }

  facts(id: string, now: number, key?: string) {
    return this.#views.facts(id, now, key)
  }

  line(key: string, limit: number, now: number) {
    return this.#views.line(key, limit, now)
  }

  flow(now: number) {
    return this.#views.flow(now)
  }

  recent(key: string, now: number) {
    return this.#views.recent(key, now)
  }

  stored() {
    return keysOf(this.#prefix)
  }

  async close() {
    this.#backend.wakes.stop()
  }
}

function asNamed(request: Request, now: number) {
  return { ...request, deadline: request.deadline - now }
}

function asOutcome(ending: Ending, now: number): FinishOutcome {
  switch (ending.kind) {
    case 'completed':
      return { kind: 'completed', result: ending.result }
    case 'failed':
      return ending
    case 'retry':
      return { kind: 'retry', error: ending.error, delay: ending.readyAt - now }
    case 'freeze':
      return { kind: 'freeze', duration: ending.until - now }
  }
}

export function claim(verbs: Verbs, now: number, lookAhead: number, most = 1) {
  return verbs.claim(0, { scheduler: 'test', lookAhead, most, lease: HOUR }, now)
}

/** Takes a job that was handed over through the gate, and starts it immediately. */
export async function startHanded(
  verbs: Verbs,
  handed: HandedJob,
  now: number,
  shard = 0,
  isReported = true,
): Promise<Started> {
  const asked = { ...handed, worker: 'test', lead: 0, error: 0, lease: HOUR }
  let [answer] = (await verbs.gate(shard, [asked], now)).answers
  let fetched: string | undefined
  if (answer?.kind === 'data') {
    const [large] = await verbs.fetch(shard, [handed])
    if (large?.kind === 'yes') fetched = large.data
    answer = (await verbs.gate(shard, [{ ...asked, hasData: true }], now)).answers[0]
  }
  if (answer?.kind !== 'granted') throw new Error(`expected ${handed.id} to be granted, got: ${answer?.kind}`)
  const [report] = isReported ? await verbs.start(shard, [{ ...handed, startedAt: now }], now) : []
  if (report === 'lost') throw new Error(`${handed.id} was lost before its start`)
  const { slot, job } = answer
  const { id, key, cost, costs, settings, traceparent, attempt, fence, crashes, admittedAt } = job
  const [data, named] = [fetched ?? job.data, costs && { costs }]
  return { id, key, data, cost, ...named, settings, traceparent, attempt, fence, crashes, admittedAt, slot }
}

async function finishAs(
  verbs: Verbs,
  jobs: readonly HandedJob[],
  outcome: FinishOutcome,
  now: number,
): Promise<void> {
  if (jobs.length === 0) return
  const reports = jobs.map(({ id, epoch }) => ({ id, epoch, outcome }))
  const answers = await verbs.finish(0, reports, now)
  if (answers.some(({ isMine }) => !isMine)) throw new Error(`a job was lost before it was ${outcome.kind}`)
}

/** The names, without the prefix, of all keys of shapers with this prefix that do not expire by themselves. */
export async function keysOf(prefix: string): Promise<string[]> {
  const start = `{${prefix}:`
  const names = new Set<string>()
  for await (const page of lookAt().scanStream({ match: `${start}*`, count: 1_000 })) {
    for (const name of page.map(String)) {
      if ((await lookAt().pttl(name)) === -1) names.add(name.slice(start.length))
    }
  }
  return [...names].sort()
}
