import { deepStrictEqual } from 'node:assert/strict'
import { createHttpApp } from '../../../src/http.ts'
import { type ShapedJob, Shaper } from '../../../src/index.ts'
import { Meter } from '../../../src/meter.ts'
import { VirtualClock } from '../../../src/testing.ts'
import { type LimitSpec, textOf } from './limit-spec.ts'
import { quotasSeen, type Started } from './start-log.ts'

/** A job as it was asked for. */
export interface Asked {
  readonly id: string
  readonly cost: number
  readonly costs: Readonly<Record<string, number>>
}

interface Running {
  readonly job: ShapedJob
  readonly start: Started
  readonly end: () => void
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
  /** What was accepted and has not started, in order. */
  readonly waiting: Asked[] = []

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

  /** Cost units that wait. */
  get units(): number {
    return this.waiting.reduce((sum, { cost }) => sum + cost, 0)
  }

  #start(job: ShapedJob): Promise<void> {
    const asked = this.waiting.shift()!
    deepStrictEqual([job.id, job.cost, { ...job.costs }], [asked.id, asked.cost, asked.costs])
    const start: Started = { at: this.now, cost: asked.cost, costs: asked.costs }
    this.starts.push(start)
    return new Promise((resolve) => this.running.push({ job, start, end: resolve }))
  }

  /** What was settled counts instead of the estimate. */
  settle({ start }: Running, amounts: Readonly<Record<string, number>>): void {
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
    const taken = this.running.length
    deepStrictEqual(
      { quotas: shown, waiting, running, places },
      {
        // A bucket that is forgotten counts nothing.
        quotas: view === undefined ? [] : quotas,
        waiting: this.units,
        running: taken,
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
    await this.shaper.close()
    await this.meter.close()
  }
}
