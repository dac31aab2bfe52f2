import { expect } from 'vitest'
import type { HistoryEvent } from '../../src/conformance/history.ts'
import { isVelvetRopeError } from '../../src/core/errors.ts'
import type { Admission } from '../../src/core/job.ts'
import { isTotal } from '../../src/core/key.ts'
import { parseLimit } from '../../src/core/limit.ts'
import {
  at,
  COMPLETED,
  type Driver,
  failAndRetry,
  type Request,
  request,
  type Started,
} from './backend-driver.ts'
import { freeToGo } from './family-idle.ts'
import { FamilyLimits, usesOf } from './family-limits.ts'
import { FamilyTies, Tied } from './family-ties.ts'
import { limitText, OUTERMOST, type Step, TOTALS } from './family-traces.ts'
import type { RedisDriver } from './redis-driver.ts'

const MS = 1_000
const MOST_CRASHES = 3

interface Shape {
  readonly keys: readonly string[]
  readonly families: readonly string[]
  /** Of the deepest of these. */
  readonly depth: number
  readonly limits: Readonly<Record<string, string>>
}

/** Plays a trace to both lines; each answer of one is the answer of the other. */
export class FamilyPlay {
  now = at(0)
  readonly history: HistoryEvent[] = []
  readonly #memory: Driver
  readonly #redis: RedisDriver
  readonly #ties: FamilyTies
  readonly #keys: readonly string[]
  readonly #families: readonly string[]
  /** The totals below the outermost one that a rule may name. */
  readonly #inner: readonly string[]
  readonly #limits: FamilyLimits
  readonly #asked: Request[] = []
  readonly #started: Started[] = []
  readonly #crashes = new Map<string, number>()
  #running: string[] = []
  #readyAt = 0
  /** So many of the keys have had a job. */
  #known = 0
  /** Keys and families, those first that have been paused for the longest. */
  #paused: string[] = []
  /** The end of the last freeze. */
  #thawedAt = 0
  starts = 0
  /** Jobs used another part of a total before: the leads of that stand, and the checker knows only what they use now. */
  hasOldLeads = false
  /** The most that one claim handed over. */
  mostHanded = 0

  constructor(memory: Driver, redis: RedisDriver, tag: string, { keys, families, depth, limits }: Shape) {
    this.#memory = memory
    this.#redis = redis
    this.#ties = new FamilyTies(memory, redis, tag)
    this.#keys = keys
    this.#families = families
    this.#inner = TOTALS.filter(([, at]) => at <= depth).map(([pattern]) => pattern)
    // A total of a key is for the key, and for what would be below it.
    this.#limits = new FamilyLimits(limits, [...families, ...keys.map((key) => `${key}/`)])
  }

  async begin(): Promise<void> {
    this.history.push(...this.#limits.notes(this.now))
  }

  async step(step: Step): Promise<void> {
    await this.#expire()
    // A slower limit would count the last start of a bucket that is remembered still. Before the first start none is; and the claim
    // that forgets on Redis, which looks far back, would find a family that was never used to be due for ever.
    if (this.starts > 0) await this.#all((driver) => driver.forget(this.now))
    if (this.#paused.length > 2) await this.#hold('resume', this.#paused[0]!, 0)
    await this.#do(step)
    await this.#look()
  }

  async #expire(): Promise<void> {
    const { now } = this
    const expired = await this.#all(async (driver) => (await driver.expire(now)).sort())
    for (const id of expired) this.#note({ type: 'end', at: now, id, outcome: 'expired' })
  }

  async #do(step: Step): Promise<void> {
    const { now } = this
    switch (step.do) {
      case 'admit': {
        const key = this.#keys[this.#upTo(step.which)]!
        this.#known = Math.max(this.#known, this.#keys.indexOf(key) + 1)
        await this.#all((driver) => driver.forecast(key, step.cost, now))
        await this.#admit([{ key, cost: step.cost }], step.tokens, step.patience)
        return
      }
      case 'crowd': {
        const from = this.#upTo(step.which)
        const keys = this.#keys.slice(from, from + step.of)
        this.#known = Math.max(this.#known, from + keys.length)
        const jobs = keys.flatMap((key) => step.costs.map((cost) => ({ key, cost })))
        await this.#admit(jobs, step.tokens)
        return
      }
      case 'start':
        await this.#startAll()
        for (let n = 0; n < step.most; n++) {
          if (!(await this.#startNext())) return
          if (step.isShort) await this.#complete(this.#running.at(-1)!)
        }
        return
      case 'ahead':
        await this.#startAhead(step.by, step.most)
        return
      case 'complete': {
        const id = pick(this.#running, step.which)
        if (id !== undefined) await this.#complete(id)
        return
      }
      case 'crash': {
        const id = pick(this.#running, step.which)
        if (id !== undefined) await this.#crash(id)
        return
      }
      case 'die':
        await this.#startAll()
        if (await this.#startNext(false)) await this.#crash(this.#running.at(-1)!)
        return
      case 'lose':
        await this.#redis.loseNext(now)
        await this.#startAll()
        return
      case 'retry': {
        const id = pick(this.#running, step.which)
        if (id === undefined) return
        // Of two that are ready at the same microsecond, either may depart first.
        this.#readyAt = Math.max(this.#readyAt + 1, now + step.delay)
        const readyAt = this.#readyAt
        this.#stop(id)
        await this.#all((driver) => driver.finish(id, failAndRetry(readyAt), now))
        this.#note({ type: 'return', at: now, id, reason: 'retry', readyAt })
        return
      }
      case 'settle': {
        const started = pick(this.#started, step.which)
        if (started === undefined) return
        const { id, key } = started
        const amounts = { tokens: step.tokens }
        const isTaken = await this.#all((driver) => driver.settle(id, amounts, now))
        if (isTaken === true) this.#note({ type: 'settle', at: now, id, key, amounts })
        return
      }
      case 'cancel': {
        const id = pick(this.#asked, step.which)?.id
        if (id === undefined || !(await this.#all((driver) => driver.cancel(id, now)))) return
        this.#note({ type: 'end', at: now, id, outcome: 'cancelled' })
        return
      }
      case 'freeze':
      case 'unfreeze':
      case 'pause':
      case 'resume':
        await this.#hold(step.do, pick(step.isFamily ? this.#families : this.#keys, step.which)!, step.forMs)
        return
      case 'limit':
        await this.#setLimit(pick(this.#keys, step.which)!, limitText(step.ofKey, step.weight))
        return
      case 'total': {
        const pattern = pick(this.#limits.patterns.filter(isTotal), step.which)!
        const pace = pattern === OUTERMOST ? step.ofOutermost : step.ofTotal
        await this.#setLimit(pattern, limitText(pace, step.weight))
        return
      }
      case 'come':
      case 'go': {
        const isThere = (name: string) => this.#limits.get(name) !== undefined
        const names = this.#inner.filter((name) => isThere(name) === (step.do === 'go'))
        const pattern = pick(names, step.which)
        if (pattern === undefined || (await this.#isAtWork(pattern))) return
        if (step.do === 'come') await this.#setLimit(pattern, limitText(step.ofTotal, step.weight))
        else await this.#unset(pattern)
      }
    }
  }

  /** Whether jobs wait below the pattern. They would come below other totals one after the other, and on Redis in any order. */
  async #isAtWork(pattern: string): Promise<boolean> {
    const { buckets } = await this.#memory.list({ sort: 'key', limit: 1_000 }, this.now)
    const paths = this.#limits.pathsOf(pattern)
    return buckets.some(({ key, waiting }) => waiting > 0 && paths.some((path) => `${key}/`.startsWith(path)))
  }

  /** Keys come one after the other: where newcomers have the same tag, the older one has the first name. */
  #upTo(which: number): number {
    return which % Math.min(this.#keys.length, this.#known + 1)
  }

  async #admit(
    jobs: readonly { readonly key: string; readonly cost: number }[],
    tokens: number | undefined,
    patience = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const { now } = this
    const costs = tokens === undefined ? undefined : { tokens }
    const asked = jobs.map(({ key, cost }, n) => {
      const id = `j${this.#asked.length + n}`
      return request(id, { key, cost, ...(costs && { costs }), deadline: now + patience })
    })
    this.#asked.push(...asked)
    const answers: Admission[] = []
    for (const one of asked) answers.push(await this.#all((driver) => driver.admit(one, now)))
    for (const [n, answer] of answers.entries()) {
      const { id, key, cost } = asked[n]!
      if (!answer.accepted) continue
      const { departsAt, isEstimate } = answer
      const said = { accepted: true, departsAt: departsAt * MS, isEstimate } as const
      this.#note({ type: 'answer', at: now, id, key, cost, ...(costs && { costs }), ...said })
    }
  }

  async #setLimit(pattern: string, limit: string): Promise<void> {
    const before = this.#limits.get(pattern)
    if (before !== undefined && usesOf(limit) !== usesOf(before)) {
      this.hasOldLeads = true
      // On Redis a total does not know whether it counted them in the new unit.
      this.#started.length = 0
    }
    await this.#all((driver) => driver.setRule(pattern, limit, this.now))
    this.history.push(...this.#limits.set(pattern, limit, this.now))
  }

  async #unset(pattern: string): Promise<void> {
    await this.#all((driver) => driver.unsetRule(pattern, this.now))
    this.history.push(...this.#limits.unset(pattern, this.now))
  }

  async #hold(how: 'freeze' | 'unfreeze' | 'pause' | 'resume', name: string, forMs: number): Promise<void> {
    const { now } = this
    const until = now + forMs * MS
    if (how === 'freeze') this.#thawedAt = Math.max(this.#thawedAt, until)
    const answer = await this.#all<unknown>((driver) =>
      how === 'freeze' ? driver.freeze(name, until, now) : driver[how](name, now),
    )
    if (typeof answer === 'string') return
    if (how === 'pause' || how === 'resume') this.#paused = this.#paused.filter((other) => other !== name)
    if (how === 'pause') this.#paused.push(name)
    if (how === 'freeze') this.#note({ type: how, at: now, key: name, until })
    else this.#note({ type: how, at: now, key: name })
  }

  #stop(id: string): void {
    this.#running = this.#running.filter((other) => other !== id)
  }

  async #complete(id: string): Promise<void> {
    const { now } = this
    this.#stop(id)
    await this.#all((driver) => driver.finish(id, COMPLETED, now))
    this.#note({ type: 'end', at: now, id, outcome: 'completed' })
  }

  /** The line in memory has no workers that die: there the job goes back to the head of its line, as after a freeze; the third time it fails. */
  async #crash(id: string): Promise<void> {
    const { now } = this
    const crashes = (this.#crashes.get(id) ?? 0) + 1
    this.#crashes.set(id, crashes)
    this.#stop(id)
    await this.#redis.crash(id, now)
    this.#note({ type: 'fault', at: now, id })
    if (crashes === MOST_CRASHES) {
      await this.#memory.finish(id, { kind: 'failed', error: 'crashed' }, now)
      this.#note({ type: 'end', at: now, id, outcome: 'failed' })
    } else await this.#memory.finish(id, { kind: 'freeze', until: now }, now)
  }

  async #startAll(): Promise<void> {
    const { starts } = this
    const free = await freeToGo(this.#memory, this.now)
    while (await this.#startOne());
    expect(await freeToGo(this.#memory, this.now)).toEqual([])
    if (free.length > 0) expect(this.starts).toBeGreaterThan(starts)
  }

  /** Goes on to the time of the next departure. */
  async #startNext(isReported = true): Promise<boolean> {
    await this.#goOn()
    let inMemory = await this.#memory.startNext(this.now)
    // One that joined just now is first, and has to wait for a quota: so does what was handed over.
    while (inMemory === undefined && this.#redis.handed.length > 0 && (await this.#goOn()))
      inMemory = await this.#memory.startNext(this.now)
    return this.#startOnRedis(inMemory, isReported)
  }

  /** Returns whether time has passed. */
  async #goOn(): Promise<boolean> {
    const { nextDepartureAt = 0 } = (await this.#memory.family(OUTERMOST, this.now)) ?? {}
    const next = Math.ceil(nextDepartureAt * MS)
    if (next <= this.now) return false
    this.now = next
    await this.#expire()
    return true
  }

  /** On Redis one claim hands over what departs by then; in memory each departs at its time. */
  async #startAhead(by: number, most: number): Promise<void> {
    await this.#startAll()
    const until = this.now + by
    // Who may go only later must not take part in the choice already.
    if (this.#readyAt > this.now || this.#thawedAt > this.now) return
    const handed =
      (await this.#redis.handAhead(by, most, this.now)) || (await this.#redis.handAhead(by, most, this.now))
    this.mostHanded = Math.max(this.mostHanded, handed)
    for (let n = 0; n < handed; n++) expect(await this.#startNext(), `start ${n} of ${handed}`).toBe(true)
    if (parseLimit(this.#limits.get(OUTERMOST)!).quotas.length === 0)
      expect(this.now).toBeLessThanOrEqual(until + 1)
  }

  async #startOne(): Promise<boolean> {
    return this.#startOnRedis(await this.#memory.startNext(this.now), true)
  }

  /** `isReported`: on Redis its worker does not die before it says so. */
  async #startOnRedis(inMemory: Started | undefined, isReported: boolean): Promise<boolean> {
    const { now } = this
    // Where children join, or stand elsewhere, a claim may ask to be repeated.
    const onRedis =
      (await this.#redis.startNext(now, isReported)) ??
      (await this.#redis.startNext(now, isReported)) ??
      (await this.#redis.startNext(now, isReported))
    if (inMemory?.id !== onRedis?.id && (await this.#ties.isTied(inMemory, onRedis, this.#asked, now)))
      throw new Tied()
    expect(comparable(onRedis)).toEqual(comparable(inMemory))
    if (inMemory === undefined) return false
    const { id, key, cost, costs, attempt } = inMemory
    this.#note({ type: 'start', at: now, id, key, cost, attempt, ...(costs && { costs }) })
    this.#started.push(inMemory)
    this.#running.push(id)
    this.starts++
    return true
  }

  /** What is empty, is forgotten by each at its time; and on Redis it is a claim that finds out whose turn is first below a total. */
  async #look(): Promise<void> {
    const { now } = this
    const audit = await this.#all((driver) => driver.audit())
    this.#note({ type: 'audit', at: now, ...audit })
    await this.#all(async (driver) => {
      const { families } = await driver.families({ sort: 'path', limit: 1_000 }, now)
      return families.filter(isBusy).map(({ children: _, nextDepartureAt: __, heldBy: ___, ...view }) => view)
    })
    await this.#all(async (driver) => {
      const { buckets } = await driver.list({ sort: 'key', limit: 1_000 }, now)
      return buckets.filter(isBusy).map(({ durability: _, lastUsedAt: __, ...view }) => view)
    })
  }

  #note(event: HistoryEvent): void {
    this.history.push(event)
  }

  /** The answer of both. An error of the product is one, too. */
  async #all<Answer>(ask: (driver: Driver) => Promise<Answer>): Promise<Answer> {
    const [inMemory, onRedis] = await Promise.all(
      [this.#memory, this.#redis].map((driver) =>
        ask(driver).catch((error: unknown) => {
          if (isVelvetRopeError(error)) return error.message as Answer
          throw error
        }),
      ),
    )
    expect(onRedis).toEqual(inMemory)
    return inMemory!
  }
}

function pick<One>(all: readonly One[], which: number): One | undefined {
  return all[which % Math.max(1, all.length)]
}

function isBusy({ waiting, running }: { readonly waiting: number; readonly running: number }): boolean {
  return waiting + running > 0
}

/** Fences on Redis do not begin at 1, and the line in memory counts no crashes. */
function comparable(started: Started | undefined) {
  return started && { ...started, fence: 0, crashes: 0 }
}
