import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isVelvetRopeError } from '../../src/core/errors.ts'
import { parseLimit } from '../../src/core/limit.ts'
import { useOf } from '../../src/core/total.ts'
import { shardTag } from '../../src/redis/scripts/keys.ts'
import { at, COMPLETED, type Driver, failAndRetry, request, type Started } from '../support/backend-driver.ts'
import { memoryDriver } from '../support/memory-driver.ts'
import { lookAt, redisDriver } from '../support/redis-driver.ts'
import { uniquePrefix } from '../support/redis-server.ts'
import { tagsOf } from '../support/redis-tags.ts'

const MS = 1_000
const KEYS = [
  'a',
  ...Array.from({ length: 12 }, (_, n) => `a/${n}`),
  'a/x',
  ...Array.from({ length: 6 }, (_, n) => `a/x/${n}`),
  'a/y/1',
  'a/y/2',
  'a/x/p/1',
  'a/x/p/2',
  'a/x/p/q/1',
  'a/x/p/q/2',
]
const TOTALS = ['a/', 'a/x/', 'a/*/', 'a/x/p/', 'a/x/p/q/']
/** Those of the pattern with a star, too. */
const FAMILIES = ['a/', 'a/x/', 'a/y/', 'a/x/p/', 'a/x/p/q/']

/** Hardly two are alike, so that tags are equal where children join together alone; and their sums are exact. */
const weight = fc.integer({ min: 1_024, max: 4_096 }).map((parts) => parts / 1_024)
const weighed = (...limits: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...limits), weight)
    .map(([limit, share]) => `${limit}, tolerance 0, weight ${share}`)
const PACES = ['8, 2/s', '20, 20/s', '40, 200/s', '20, 20/s, 6/second', '20, 20/s, 1 at once']
const ofKey = weighed(...PACES)
const ofTotal = weighed('40, 10/s', '200, 50/s', '30, 20/s', '200, 50/s, 2 at once')
const ofOutermost = weighed(
  '40, 10/s',
  '300, 20/s',
  '300, 50/s, 15/second',
  '300, 50/s, 90 tokens/second 10 each',
  '300, 20/s, 3 at once',
)

const which = fc.nat(1_000)
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('admit' as const),
      key: fc.constantFrom(...KEYS),
      cost: fc.integer({ min: 1, max: 4 }),
      tokens: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
      patience: fc.option(fc.nat(5_000 * MS), { nil: undefined, freq: 4 }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('complete' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('retry' as const), which, delay: fc.nat(900 * MS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settle' as const), which, tokens: fc.nat(90) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('freeze' as const, 'unfreeze' as const, 'pause' as const, 'resume' as const),
      name: fc.constantFrom(...FAMILIES, ...KEYS),
      forMs: fc.integer({ min: 1, max: 900 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('limit' as const), which, limit: fc.constantFrom(...PACES) }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
const lapse = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 8 * MS }) },
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 300 * MS }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 3_000 * MS }) },
)
const trace = fc.record({
  limits: fc.record(Object.fromEntries(['*', ...KEYS].map((pattern) => [pattern, ofKey])), {
    requiredKeys: [],
    noNullPrototype: true,
  }),
  outermost: ofOutermost,
  totals: fc.dictionary(fc.constantFrom(...TOTALS.slice(1)), ofTotal, { noNullPrototype: true }),
  steps: fc.array(fc.tuple(step, lapse), { minLength: 1, maxLength: 80, size: 'max' }),
})

/** Two children of a total had the same tag: in memory the one goes first that has been there longer, on Redis the one whose key is first. */
class Tied extends Error {}

/** Plays a trace to both lines; each answer of one is the answer of the other. */
class Play {
  now = at(0)
  readonly #drivers: readonly [memory: Driver, redis: Driver]
  readonly #tag: string
  readonly #limits: Map<string, string>
  readonly #asked: string[] = []
  readonly #started: string[] = []
  #running: string[] = []
  #readyAt = 0
  /** Ends of freezes, after which nothing was claimed yet. */
  #thaws: number[] = []
  starts = 0

  constructor(drivers: readonly [Driver, Driver], tag: string, limits: Readonly<Record<string, string>>) {
    this.#drivers = drivers
    this.#tag = tag
    this.#limits = new Map(Object.entries(limits))
  }

  async step(step: Step): Promise<void> {
    const { now } = this
    await this.#all(async (driver) => (await driver.expire(now)).sort())
    // A child whose freeze is over joins when the total is asked next; a line on Redis claims at that time.
    if (this.#thaws.some((at) => at <= now)) await this.#startAll()
    await this.#do(step)
    await this.#look()
  }

  async #do(step: Step): Promise<void> {
    const { now } = this
    switch (step.do) {
      case 'admit': {
        const { key, cost, tokens, patience = Number.POSITIVE_INFINITY } = step
        const id = `j${this.#asked.length}`
        this.#asked.push(id)
        const costs = tokens === undefined ? {} : { costs: { tokens } }
        const asked = request(id, { key, cost, ...costs, deadline: now + patience })
        await this.#all((driver) => driver.forecast(key, cost, now))
        await this.#all((driver) => driver.admit(asked, now))
        return
      }
      case 'start':
        await this.#startAll()
        return
      case 'complete':
      case 'retry': {
        const id = this.#running[step.which % Math.max(1, this.#running.length)]
        if (id === undefined) return
        this.#running = this.#running.filter((other) => other !== id)
        // Of two that are ready at the same microsecond, either may depart first.
        if (step.do === 'retry') this.#readyAt = Math.max(this.#readyAt + 1, now + step.delay)
        const ending = step.do === 'retry' ? failAndRetry(this.#readyAt) : COMPLETED
        await this.#all((driver) => driver.finish(id, ending, now))
        return
      }
      case 'settle': {
        const id = this.#started[step.which % Math.max(1, this.#started.length)]
        if (id !== undefined) await this.#all((driver) => driver.settle(id, { tokens: step.tokens }, now))
        return
      }
      case 'cancel': {
        const id = this.#asked[step.which % Math.max(1, this.#asked.length)]
        if (id !== undefined) await this.#all((driver) => driver.cancel(id, now))
        return
      }
      case 'freeze':
        this.#thaws.push(now + step.forMs * MS)
        await this.#all((driver) => driver.freeze(step.name, now + step.forMs * MS, now))
        return
      case 'unfreeze':
      case 'pause':
      case 'resume': {
        const { do: how } = step
        await this.#all(async (driver) => driver[how](step.name, now))
        return
      }
      case 'limit': {
        // On Redis a bucket whose weight, or whose total, has changed begins anew as a newcomer.
        const keys = [...this.#limits].filter(([name]) => !name.endsWith('/'))
        const [pattern, before] = keys[step.which % keys.length]!
        const limit = `${step.limit}, tolerance 0, weight ${parseLimit(before).weight}`
        this.#limits.set(pattern, limit)
        await this.#all((driver) => driver.setRule(pattern, limit, now))
      }
    }
  }

  async #startAll(): Promise<void> {
    while (await this.#startOne());
    this.#thaws = this.#thaws.filter((at) => at > this.now)
  }

  async #startOne(): Promise<boolean> {
    const { now } = this
    const [memory, redis] = this.#drivers
    const inMemory = await memory.startNext(now)
    // Where children join, or stand elsewhere, a claim may ask to be repeated.
    const onRedis =
      (await redis.startNext(now)) ?? (await redis.startNext(now)) ?? (await redis.startNext(now))
    if (inMemory?.id !== onRedis?.id && (await this.#isTied(inMemory, onRedis))) throw new Tied()
    expect(comparable(onRedis)).toEqual(comparable(inMemory))
    if (inMemory === undefined) return false
    this.#started.push(inMemory.id)
    this.#running.push(inMemory.id)
    this.starts++
    return true
  }

  /** Whether the one that went on Redis, or else that in memory, had the same tag as another one that could go. */
  async #isTied(inMemory: Started | undefined, onRedis: Started | undefined): Promise<boolean> {
    const went = onRedis ?? inMemory!
    for (const { total, tag, weight, others } of await tagsOf(lookAt(), this.#tag, went.key)) {
      const limit = parseLimit((await this.#drivers[0].family(total, this.now))!.limit)
      const before = onRedis === undefined ? tag : tag - useOf(limit, went) / weight
      if (others.some((other) => Math.abs(other - before) < 1e-6)) return true
    }
    return false
  }

  /** What is empty, is forgotten by each at its time; and on Redis it is a claim that finds out whose turn is first below a total. */
  async #look(): Promise<void> {
    const { now } = this
    await this.#all((driver) => driver.audit())
    await this.#all(async (driver) => {
      const { families } = await driver.families({ sort: 'path' }, now)
      return families.filter(isBusy).map(({ children: _, nextDepartureAt: __, heldBy: ___, ...view }) => view)
    })
    await this.#all(async (driver) => {
      const { buckets } = await driver.list({ sort: 'key' }, now)
      return buckets.filter(isBusy).map(({ durability: _, lastUsedAt: __, ...view }) => view)
    })
  }

  /** An error of the product is an answer, too. */
  async #all<Answer>(ask: (driver: Driver) => Promise<Answer>): Promise<void> {
    const answers = await Promise.all(
      this.#drivers.map((driver) =>
        ask(driver).catch((error: unknown) => {
          if (isVelvetRopeError(error)) return error.message
          throw error
        }),
      ),
    )
    expect(answers[1]).toEqual(answers[0])
  }
}

function isBusy({ waiting, running }: { readonly waiting: number; readonly running: number }): boolean {
  return waiting + running > 0
}

/** Fences of a line on Redis do not begin at 1. */
function comparable(started: object | undefined) {
  return started && { ...started, fence: 0 }
}

test('below totals of many shapes both lines answer alike', async () => {
  let ties = 0
  let starts = 0
  await fc.assert(
    fc.asyncProperty(trace, async ({ limits: some, outermost, totals, steps }) => {
      const limits = { '*': '20, 20/s, tolerance 0', ...some, ...totals, 'a/': outermost }
      const prefix = uniquePrefix()
      const drivers = [await memoryDriver(limits), await redisDriver(limits, 1_000, prefix)] as const
      const play = new Play(drivers, shardTag(prefix, 'test', 0), limits)
      try {
        for (const [step, by] of steps) {
          play.now += by
          await play.step(step)
        }
      } catch (error) {
        if (!(error instanceof Tied)) throw error
        ties++
      } finally {
        starts += play.starts
        await Promise.all(drivers.map((driver) => driver.close()))
      }
    }),
    { numRuns: 40, endOnFailure: true },
  )
  // A trace ends at its first tie.
  expect(starts).toBeGreaterThan(ties)
})
