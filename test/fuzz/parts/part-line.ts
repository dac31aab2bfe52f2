import { deepStrictEqual, ok } from 'node:assert/strict'
import { createHttpApp } from '../../../src/http.ts'
import { type ShapedJob, Shaper, type Turn } from '../../../src/index.ts'
import { Meter } from '../../../src/meter.ts'
import { VirtualClock } from '../../../src/testing.ts'
import { intervalOf, type LimitSpec, nameOf, type QuotaSpec, textOf } from './limit-spec.ts'
import { chargeIn, quotasSeen, type Started, usedAt } from './start-log.ts'

/** A job as it was asked for. */
export interface Asked {
  readonly id: string
  readonly cost: number
  readonly costs: Readonly<Record<string, number>>
}

/** A verdict, as a status; `quota` is what the job alone exceeds. */
interface Judgement {
  readonly status: 202 | 422 | 429
  readonly quota?: string
  readonly isReplay?: true
}

/** Requests with one id are the same if this is. */
const canonical = ({ cost, costs }: Asked) => JSON.stringify([cost, Object.entries(costs).sort()])

export interface Running {
  readonly job: ShapedJob
  readonly start: Started
  readonly end: () => void
}

export interface HeldTurn {
  readonly turn: Turn
  readonly start: Started
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed where there is a body. */
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * One line under a limit of several parts, in memory and on virtual time, behind the HTTP API; and beside it a model that knows only
 * what was asked for, which handlers were called, and what was settled.
 */
export class PartLine {
  readonly clock = new VirtualClock()
  readonly spec: LimitSpec
  readonly key: string
  readonly shaper: Shaper
  readonly meter: Meter
  readonly app
  /** All starts there ever were, oldest first. */
  readonly starts: Started[] = []
  /** The handlers that run, oldest first. */
  readonly running: Running[] = []
  /** Turns that have come and were not released. */
  readonly turns: HeldTurn[] = []
  /** When the pace allows the next start. */
  #next = Number.NEGATIVE_INFINITY
  /** What was accepted and has not started, in order. */
  readonly waiting: Asked[] = []
  /** What was accepted once, by id. */
  readonly #known = new Map<string, string>()

  constructor(spec: LimitSpec, key = 'k', pattern = key) {
    this.spec = spec
    this.key = key
    const limits = { [pattern]: textOf(spec) }
    // Handlers run until a step ends them.
    this.shaper = new Shaper('fuzz', {
      limits,
      clock: this.clock,
      jobDefaults: { timeoutMs: 366 * 86_400_000 },
    })
    this.meter = new Meter('fuzz', {
      limits: { [pattern]: textOf({ ...spec, concurrency: undefined! }) },
      clock: this.clock,
    })
    this.app = createHttpApp(this.shaper, {
      meter: this.meter,
      lagMs: () => 0,
      heap: () => ({ used: 0, limit: 2 ** 32 }),
    })
    this.shaper.work((job) => this.#start(job))
  }

  /** Microseconds. */
  get now(): number {
    return this.clock.now()
  }

  /** What runs, or holds a place. */
  get taken(): number {
    return this.running.length + this.turns.length
  }

  /** Cost units that wait. */
  get units(): number {
    return this.waiting.reduce((sum, { cost }) => sum + cost, 0)
  }

  #start(job: ShapedJob): Promise<void> {
    const asked = this.#departs(job.id)
    deepStrictEqual([job.cost, { ...job.costs }], [asked.cost, asked.costs])
    const start = this.begin(asked)
    return new Promise((resolve) => this.running.push({ job, start, end: resolve }))
  }

  /** The first in line; it has this id. */
  #departs(id: string): Asked {
    const asked = this.waiting.shift()
    deepStrictEqual(id, asked?.id, 'in the order of arrival')
    return asked!
  }

  /** Whether the pace, every quota and the places let this start now; a microsecond is a rounding. */
  mayStart(asked: Asked): boolean {
    const { quotas, concurrency = Number.POSITIVE_INFINITY } = this.spec
    const isHeld = (quota: QuotaSpec) =>
      usedAt(quota, this.starts, this.now) + chargeIn(quota, asked) > quota.amount
    return this.now > this.#next - 1 && this.taken < concurrency && !quotas.some(isHeld)
  }

  /** Notes a start, which every part of the limit allows. */
  begin(asked: Asked): Started {
    const { now } = this
    ok(this.mayStart(asked), `${asked.id} starts at ${now}, under ${textOf(this.spec)}`)
    const interval = intervalOf(this.spec)
    const slot = now - this.#next <= Math.min(5_000, interval / 4) ? this.#next : now
    this.#next = slot + asked.cost * interval
    const start: Started = { at: now, cost: asked.cost, costs: asked.costs }
    this.starts.push(start)
    return start
  }

  /** A turn that was in line has come. */
  come(id: string, turn: Turn): HeldTurn {
    const held = { turn, start: this.begin(this.#departs(id)) }
    this.turns.push(held)
    return held
  }

  /** What becomes of a job that is asked for now. */
  judge(asked: Asked): Judgement {
    const known = this.#known.get(asked.id)
    if (known !== undefined)
      return known === canonical(asked) ? { status: 202, isReplay: true } : { status: 422 }
    if (asked.cost > this.spec.capacity) return { status: 422 }
    const exceeded = this.spec.quotas.find((quota) => chargeIn(quota, asked) > quota.amount)
    if (exceeded !== undefined) return { status: 422, quota: nameOf(exceeded) }
    return { status: this.units + asked.cost > this.spec.capacity ? 429 : 202 }
  }

  /** The job is asked for; it waits if it is accepted. */
  ask(asked: Asked): Judgement {
    const judgement = this.judge(asked)
    if (judgement.status !== 202 || judgement.isReplay) return judgement
    this.#known.set(asked.id, canonical(asked))
    this.waiting.push(asked)
    return judgement
  }

  /** Whether a start still counts in a quota. */
  counts(start: Started): boolean {
    return this.spec.quotas.some((quota) => usedAt(quota, [start], this.now) > 0)
  }

  /** What was settled counts instead of the estimate. */
  settle({ start }: Pick<Running, 'start'>, amounts: Readonly<Record<string, number>>): void {
    const index = this.starts.indexOf(start)
    this.starts[index] = { ...this.starts[index]!, costs: { ...start.costs, ...amounts } }
  }

  /** The handler that has run longest ends. */
  async end(): Promise<void> {
    this.running.shift()?.end()
    await this.pass(0)
  }

  pass(time: number): Promise<void> {
    return this.clock.advance(time)
  }

  /** Everything that can be seen of the line is what the model says. */
  async check(): Promise<void> {
    const view = await this.shaper.inspect(this.key)
    const { quotas: shown = [], places, waiting = 0, running = 0 } = view ?? {}
    const quotas = quotasSeen(this.spec, this.starts, this.now)
    const { concurrency: of } = this.spec
    const { taken } = this
    deepStrictEqual(
      { quotas: shown, waiting, running, places },
      {
        // A bucket that is forgotten counts nothing.
        quotas: view === undefined ? [] : quotas,
        waiting: this.units,
        running: this.running.length,
        places: of === undefined || view === undefined ? undefined : { taken, of },
      },
    )
    if (view === undefined)
      deepStrictEqual(
        quotas.filter(({ used }) => used > 0),
        [],
      )
  }

  async send(method: string, path: string, body?: string): Promise<Reply> {
    const response = await this.app.request(path, {
      method,
      ...(body !== undefined && { body, headers: { 'Content-Type': 'application/json' } }),
    })
    const text = await response.text()
    // Handlers that are due begin now.
    await this.pass(0)
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? {} : JSON.parse(text),
    }
  }

  async close(): Promise<void> {
    this.app.endStreams()
    for (const { end } of this.running.splice(0)) end()
    for (const { turn } of this.turns.splice(0)) await turn.release()
    await this.shaper.close()
    await this.meter.close()
  }
}
