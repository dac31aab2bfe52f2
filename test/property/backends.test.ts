import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isVelvetRopeError } from '../../src/core/errors.ts'
import { RuleBook } from '../../src/core/rule-book.ts'
import { BASE_ORIGINS } from '../../src/core/rule-view.ts'
import { DRIVERS } from '../conformance/drivers.ts'
import {
  at,
  COMPLETED,
  type Driver,
  type Ending,
  type Request,
  request,
  TURN_CALLER,
} from '../support/backend-driver.ts'
import { BesideCore, CORE_COMMANDS, type CoreCommand } from '../support/beside-core.ts'
import { CoreDriver } from '../support/core-driver.ts'
import { everythingSeen } from '../support/everything-seen.ts'
import { isTurnId } from '../support/turn-id.ts'

const KEYS = ['a', 'b/x', 'b/y']
// In one trace all with the same tolerance: a start that it forgives would else be judged by the old one or by the new one.
const LIMITS = [
  '5, 2/s',
  '8, 10/s',
  '3, 1/s',
  '20, 40/s',
  '6, 3/s',
  '4, 20 per 3 seconds',
  '8, 10/s, warm-up 3s',
  '6, 3/s, warm-up 2s from 1/s',
  '20, 40/s, warm-up 700ms from 5/s',
]
/** Limits with more than a pace; the reference for one key does not know them. */
const SETS = ['8, 10/s, 6/second', '20, 40/s, 9 per 2 seconds, 30 tokens/second 5 each', '6, 3/s, 2 at once']
/** The sub-windows of these quotas, in microseconds. */
const PARTS = [1_000_000, 2_000_000].map((length) => Math.ceil(length / 60))
const MS = 1_000
const TOLERANCE = 5 * MS

/** How a trace spaces its starts. */
interface Spacing {
  limitOf(limit: string): string
  /** Whether clocks that do not quite agree may forgive a start that is late by so much, or not. */
  isDoubtful(late: number): boolean
  /** By how much later than in memory a start may count in quotas on Redis. */
  readonly countedLate: number
}
const LENIENT: Spacing = {
  limitOf: (limit) => limit,
  isDoubtful: (late) => late > TOLERANCE - 0.5 * MS - 1 && late < TOLERANCE + 1,
  countedLate: 0.5 * MS,
}
const STRICT: Spacing = {
  limitOf: (limit) => `${limit}, tolerance 0`,
  isDoubtful: () => false,
  countedLate: 0,
}
const spacing = fc.constantFrom(LENIENT, STRICT)

const key = fc.constantFrom(...KEYS)
const limit = fc.constantFrom(...LIMITS, ...SETS)
const paceLimit = fc.constantFrom(...LIMITS)
const pattern = fc.constantFrom('*', 'b', 'b/x', 'a')
const origin = fc.constantFrom(...BASE_ORIGINS)
const someLimits = fc.dictionary(pattern, limit, { noNullPrototype: true })
const cost = fc.integer({ min: 1, max: 4 })
const which = fc.nat(1_000)
const lapse = fc.oneof(
  { weight: 3, arbitrary: fc.constant(1) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 8 * MS }) },
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 700 * MS }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 10_000 * MS }) },
)

const verb = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('admit' as const),
      key,
      cost,
      patience: fc.option(fc.nat(3_000 * MS), { freq: 3 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('acquire' as const),
      key,
      cost,
      patience: fc.option(fc.integer({ min: 1, max: 3_000 * MS }), { freq: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('admitMany' as const),
      key,
      costs: fc.array(cost, { maxLength: 6 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('again' as const), which, isOther: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('forecast' as const), key, cost }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('complete' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), which }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('retry' as const), which, backoff: fc.nat(2_000 * MS) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('giveBack' as const),
      which,
      duration: fc.integer({ min: 1, max: 900 * MS }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('freeze' as const),
      key,
      duration: fc.integer({ min: 1, max: 1_500 * MS }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unfreeze' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resume' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('setRule' as const), pattern, limit }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unsetRule' as const), pattern }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resetRule' as const), pattern }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('loadRules' as const), origin, limits: someLimits }) },
)
type Verb = typeof verb extends fc.Arbitrary<infer Value> ? Value : never

/** One trace, played to all backends in parallel; every answer of one is the answer of all. */
class Play {
  #now = at(0)
  readonly #drivers: readonly Driver[]
  readonly #spacing: Spacing
  readonly #requests: Request[] = []
  readonly #running: string[] = []
  readonly #retries = new Set<number>()

  constructor(drivers: readonly Driver[], spacing: Spacing) {
    this.#drivers = drivers
    this.#spacing = spacing
  }

  async step(verb: Verb, lapse: number): Promise<void> {
    this.#now += lapse
    if (verb.do === 'start') this.#now = await this.#clearOfDoubt(this.#now)
    const now = this.#now
    await this.#all(async (driver) => (await driver.expire(now)).sort())
    await this.#all((driver) => driver.forget(now))
    await this.#do(verb, now)
    await this.look()
  }

  async #clearOfDoubt(now: number): Promise<number> {
    if (PARTS.some((part) => (now % part) + this.#spacing.countedLate >= part))
      return this.#clearOfDoubt(now + MS)
    const views = await Promise.all(KEYS.map((key) => this.#drivers[0]!.inspect(key, 0)))
    for (const view of views) {
      const due = (view?.nextDepartureAt ?? 0) * MS
      if (this.#spacing.isDoubtful(now - due)) return this.#clearOfDoubt(now + MS)
    }
    return now
  }

  /** Everything that can be seen. */
  async look(): Promise<void> {
    const now = this.#now
    const ids = this.#requests.slice(-6).map(({ id }) => id)
    await this.#all((driver) => everythingSeen(driver, KEYS, ids, now))
  }

  async #do(verb: Verb, now: number): Promise<void> {
    switch (verb.do) {
      case 'admit':
      case 'acquire': {
        const deadline = verb.patience === null ? Number.POSITIVE_INFINITY : now + verb.patience
        const asked = this.#request(verb.key, verb.cost, deadline, verb.do === 'acquire')
        await this.#all((driver) => driver.admit(asked, now))
        break
      }
      case 'admitMany': {
        const asked = verb.costs.map((cost) => this.#request(verb.key, cost))
        await this.#all((driver) => driver.admitMany(asked, now))
        break
      }
      case 'again': {
        const asked = this.#requests[verb.which % this.#requests.length]
        // A turn that has ended is forgotten sooner or later.
        if (asked === undefined || isTurnId(asked.id)) break
        const again = verb.isOther ? { ...asked, data: 'null' } : asked
        await this.#all((driver) => driver.admit(again, now))
        break
      }
      case 'forecast':
        await this.#all((driver) => driver.forecast(verb.key, verb.cost, now))
        break
      case 'cancel': {
        const { id } = this.#requests[verb.which % this.#requests.length] ?? { id: 'unknown' }
        await this.#all((driver) => driver.cancel(id, now))
        break
      }
      case 'start': {
        const started = await this.#all((driver) => startAll(driver, now))
        for (const { id } of started ?? []) {
          if (isTurnId(id)) await this.#all((driver) => driver.finish(id, COMPLETED, now))
          else this.#running.push(id)
        }
        break
      }
      case 'complete':
        await this.#finish(verb.which, COMPLETED)
        break
      case 'fail':
        await this.#finish(verb.which, { kind: 'failed', error: 'as planned' })
        break
      case 'retry': {
        // Of two that are ready at the same microsecond, either may depart first.
        let readyAt = now + verb.backoff
        while (this.#retries.has(readyAt)) readyAt++
        this.#retries.add(readyAt)
        await this.#finish(verb.which, { kind: 'retry', error: 'once more', readyAt })
        break
      }
      case 'giveBack':
        await this.#finish(verb.which, { kind: 'freeze', until: now + verb.duration })
        break
      case 'freeze':
        await this.#all((driver) => driver.freeze(verb.key, now + verb.duration, now))
        break
      case 'unfreeze':
      case 'pause':
      case 'resume':
        await this.#all(async (driver) => driver[verb.do](verb.key, now))
        break
      case 'setRule':
        await this.#all((driver) => driver.setRule(verb.pattern, this.#spacing.limitOf(verb.limit), now))
        await this.#all((driver) => driver.rules())
        break
      case 'unsetRule':
        await this.#all((driver) => driver.unsetRule(verb.pattern, now))
        await this.#all((driver) => Promise.all(KEYS.map((key) => driver.findRule(key))))
        break
      case 'resetRule':
        await this.#all((driver) => driver.changeRules({ kind: 'reset', pattern: verb.pattern }, now))
        await this.#all((driver) => driver.layers())
        break
      case 'loadRules': {
        const rules = new RuleBook(everyLimit(verb.limits, this.#spacing)).list()
        await this.#all((driver) => driver.changeRules({ kind: 'load', rules, origin: verb.origin }, now))
        await this.#all((driver) => driver.layers())
      }
    }
  }

  #request(key: string, cost: number, deadline?: number, isTurn = false): Request {
    const number = this.#requests.length
    const id = isTurn ? `~${TURN_CALLER}~${number}` : `j${number}`
    const traceparent =
      number % 3 === 0 ? `00-${'a'.repeat(32)}-${`${number}`.padStart(16, '0')}-01` : undefined
    const part = { key, cost, data: `"${id}"`, traceparent, ...(isTurn && { isTurn }) }
    const asked = request(id, deadline === undefined ? part : { ...part, deadline })
    this.#requests.push(asked)
    return asked
  }

  async #finish(which: number, ending: Ending): Promise<void> {
    if (this.#running.length === 0) return
    const [id] = this.#running.splice(which % this.#running.length, 1)
    await this.#all((driver) => driver.finish(id!, ending, this.#now))
  }

  /** Undefined when they threw, and then all of them the same error. */
  async #all<Answer>(ask: (driver: Driver) => Promise<Answer>): Promise<Answer | undefined> {
    const answers = await Promise.all(this.#drivers.map((driver) => answerOf(ask(driver))))
    for (const answer of answers.slice(1)) expect(answer).toEqual(answers[0])
    return answers[0]!.value
  }
}

function everyLimit(limits: Readonly<Record<string, string>>, spacing: Spacing): Record<string, string> {
  return Object.fromEntries(Object.entries(limits).map(([key, limit]) => [key, spacing.limitOf(limit)]))
}

interface Answer<Value> {
  readonly value?: Value
  readonly error?: string
}

async function answerOf<Value>(promise: Promise<Value>): Promise<Answer<Value>> {
  try {
    return { value: await promise }
  } catch (error) {
    if (isVelvetRopeError(error)) return { error: error.message }
    throw error
  }
}

/** All jobs that are due; of two buckets that are due at the same microsecond, either may come first. */
async function startAll(driver: Driver, now: number) {
  const all = []
  for (let next = await driver.startNext(now); next !== undefined; next = await driver.startNext(now)) {
    const { fence, ...started } = next
    expect(fence).toBeGreaterThan(0)
    all.push(started)
  }
  return all.sort((a, b) => (a.key < b.key ? -1 : 1))
}

const limits = fc.record({ '*': limit, b: limit })
const steps = fc.array(fc.tuple(verb, lapse), { minLength: 1, maxLength: 60, size: 'max' })

test('every backend gives the same answers, whatever is asked of it', async () => {
  await fc.assert(
    fc.asyncProperty(limits, spacing, steps, async (limits, spacing, steps) => {
      const drivers = await Promise.all(DRIVERS.map(([, open]) => open(everyLimit(limits, spacing))))
      try {
        const play = new Play(drivers, spacing)
        for (const [verb, lapse] of steps) await play.step(verb, lapse)
      } finally {
        await Promise.all(drivers.map((driver) => driver.close()))
      }
    }),
    { numRuns: 200 },
  )
})

const isOfCore = (verb: Verb): verb is Extract<Verb, { do: CoreCommand['do'] }> =>
  CORE_COMMANDS.some((name) => name === verb.do)
const coreSteps = fc.array(fc.tuple(verb.filter(isOfCore), lapse), {
  minLength: 1,
  maxLength: 60,
  size: 'max',
})

test.each(DRIVERS)('%s does for one key what the core does', async (_, open) => {
  await fc.assert(
    fc.asyncProperty(paceLimit, spacing, coreSteps, async (limit, { limitOf, isDoubtful }, steps) => {
      const first = limitOf(limit)
      const driver = await open({ '*': first })
      const core = new CoreDriver(first)
      const both = new BesideCore(driver, core)
      let now = at(0)
      try {
        for (const [verb, lapse] of steps) {
          now += lapse
          if (verb.do === 'start' && isDoubtful(now - core.due)) now += MS
          if (verb.do === 'setRule' && SETS.includes(verb.limit)) continue
          await both.give(verb.do === 'setRule' ? { ...verb, limit: limitOf(verb.limit) } : verb, now)
        }
      } finally {
        await driver.close()
      }
    }),
    { numRuns: 200 },
  )
})
