import { expect } from 'vitest'
import { isVelvetRopeError } from '../../../src/core/errors.ts'
import { DRIVERS } from '../../conformance/drivers.ts'
import {
  at,
  COMPLETED,
  type Driver,
  type Ending,
  type Request,
  request,
  TURN_CALLER,
} from '../../support/backend-driver.ts'
import { everythingSeen } from '../../support/everything-seen.ts'
import { isTurnId } from '../../support/turn-id.ts'
import { KEYS, STEPS, trace, type Verb } from '../commands.ts'
import { machine } from '../machine.ts'

/** One trace, played to every backend; every answer of one is the answer of all. */
class Play {
  #now = at(0)
  readonly #drivers: readonly Driver[]
  readonly #requests: Request[] = []
  readonly #running: string[] = []
  readonly #retries = new Set<number>()

  constructor(drivers: readonly Driver[]) {
    this.#drivers = drivers
  }

  async step(verb: Verb, lapse: number): Promise<void> {
    this.#now += lapse
    const now = this.#now
    await this.#all(async (driver) => (await driver.expire(now)).sort())
    await this.#all((driver) => driver.forget(now))
    await this.#do(verb, now)
    const ids = this.#requests.slice(-5).map(({ id }) => id)
    await this.#all((driver) => everythingSeen(driver, KEYS, ids, now))
  }

  async #do(verb: Verb, now: number): Promise<void> {
    switch (verb.do) {
      case 'admit': {
        const deadline = verb.patience === null ? Number.POSITIVE_INFINITY : now + verb.patience
        const asked = this.#request(verb.key, verb.cost, deadline, verb.isTurn, verb.tokens)
        return this.#all((driver) => driver.admit(asked, now))
      }
      case 'admitMany': {
        const asked = verb.keys.map((key) => this.#request(key, verb.cost, Number.POSITIVE_INFINITY, false))
        return this.#all((driver) => driver.admitMany(asked, now))
      }
      case 'again': {
        const asked = this.#requests[verb.which % Math.max(1, this.#requests.length)]
        // A turn that has ended is forgotten sooner or later.
        if (asked === undefined || isTurnId(asked.id)) return
        return this.#all((driver) => driver.admit(verb.isOther ? { ...asked, data: '"other"' } : asked, now))
      }
      case 'forecast':
        return this.#all((driver) => driver.forecast(verb.key, verb.cost, now))
      case 'cancel': {
        const { id } = this.#requests[verb.which % Math.max(1, this.#requests.length)] ?? { id: 'unknown' }
        return this.#all((driver) => driver.cancel(id, now))
      }
      case 'start':
        return this.#startAll(now)
      case 'finish': {
        const [id] = this.#running.splice(verb.which % Math.max(1, this.#running.length), 1)
        if (id === undefined) return
        const ending = this.#ending(verb.how, verb.time)
        return this.#all((driver) => driver.finish(id, ending, now))
      }
      case 'freeze':
        return this.#all((driver) => driver.freeze(verb.key, now + verb.time, now))
      case 'settle': {
        const { id } = this.#requests[verb.which % Math.max(1, this.#requests.length)] ?? { id: '' }
        // A turn that has ended is settled by its caller.
        if (id === '' || isTurnId(id)) return
        return this.#all((driver) => driver.settle(id, { tokens: verb.units }, now))
      }
      case 'setRule':
        return this.#all((driver) => driver.setRule(verb.pattern, verb.limit, now))
      case 'unsetRule':
        return this.#all((driver) => driver.unsetRule(verb.pattern, now))
      default:
        return this.#all<unknown>((driver) => driver[verb.do](verb.key, now))
    }
  }

  #request(key: string, cost: number, deadline: number, isTurn: boolean, tokens?: number): Request {
    const number = this.#requests.length
    const id = isTurn ? `~${TURN_CALLER}~${number}` : `j${number}`
    // Some data are kept apart from their job.
    const data = number % 9 === 4 ? `"${'x'.repeat(4_200)}"` : `"${id}"`
    const asked = request(id, {
      key,
      cost,
      deadline,
      data,
      ...(isTurn && { isTurn }),
      ...(tokens && { costs: { tokens } }),
    })
    this.#requests.push(asked)
    return asked
  }

  #ending(how: Ending['kind'], time: number): Ending {
    if (how === 'completed') return COMPLETED
    if (how === 'failed') return { kind: how, error: 'as planned' }
    if (how === 'freeze') return { kind: how, until: this.#now + time }
    // Of two that are ready at the same microsecond, either may depart first.
    let readyAt = this.#now + time
    while (this.#retries.has(readyAt)) readyAt++
    this.#retries.add(readyAt)
    return { kind: 'retry', error: 'once more', readyAt }
  }

  /** All that are due; of two buckets that are due at the same microsecond, either may come first. */
  async #startAll(now: number): Promise<void> {
    const started: string[] = []
    await this.#all(async (driver) => {
      const all = []
      for (let next = await driver.startNext(now); next !== undefined; next = await driver.startNext(now)) {
        const { fence, ...facts } = next
        expect(fence).toBeGreaterThan(0)
        all.push(facts)
      }
      if (driver === this.#drivers[0]) started.push(...all.map(({ id }) => id))
      return all.sort((one, other) => (one.key < other.key ? -1 : 1))
    })
    for (const id of started) {
      if (isTurnId(id)) await this.#all((driver) => driver.finish(id, COMPLETED, now))
      else this.#running.push(id)
    }
  }

  async #all<Answer>(ask: (driver: Driver) => Promise<Answer>): Promise<void> {
    const answers = await Promise.all(this.#drivers.map((driver) => answerOf(ask(driver))))
    for (const answer of answers.slice(1)) expect(answer).toEqual(answers[0])
  }
}

async function answerOf<Value>(promise: Promise<Value>) {
  try {
    return { value: await promise }
  } catch (error) {
    if (isVelvetRopeError(error)) return { error: error.message }
    throw error
  }
}

/** Memory against Redis: after each command, every answer and everything that can be seen. Each command is one input. */
export const differential = machine({
  name: 'memory against Redis',
  inputs: trace,
  few: 200,
  share: 8,
  size: STEPS / 2,
  open: async () => {
    const give = async ([limits, steps]: [Record<string, string>, [Verb, number][]]) => {
      const drivers = await Promise.all(DRIVERS.map(([, open]) => open(limits)))
      try {
        const play = new Play(drivers)
        for (const [verb, lapse] of steps) await play.step(verb, lapse)
      } finally {
        await Promise.all(drivers.map((driver) => driver.close()))
      }
      return steps.length
    }
    return { give, close: async () => undefined }
  },
})
