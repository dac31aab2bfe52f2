import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { InvalidConfigError } from '../config/config-error.ts'
import { monotonicNow } from '../core/clock.ts'
import { isVelvetRopeError } from '../core/errors.ts'
import { openDashboard } from '../dashboard/open-dashboard.ts'
import { forwardJudge } from '../forward/forward-judge.ts'
import { createHttpApp, type HttpApp } from '../http/app.ts'
import { type HttpServer, serveHttp } from '../http/server.ts'
import { isLoopback } from '../http/server-options.ts'
import type { Meter } from '../meter/meter.ts'
import type { Shaper } from '../shaper/shaper.ts'
import type { Log } from '../telemetry/log.ts'
import { logShaper } from '../telemetry/log-shaper.ts'
import { collectMetrics, type Metrics } from '../telemetry/metrics.ts'
import { traceShaper } from '../telemetry/tracing.ts'
import { placedListenFault } from './assert-usable.ts'
import { leaveMemory } from './leave-memory.ts'
import { type ClosableHandler, LiveWorker } from './live-worker.ts'
import { openMeter } from './open-meter.ts'
import { type LimitLayer, limitLayers, openShaper } from './open-shaper.ts'
import { packageVersion } from './package-version.ts'
import { Recording } from './recording.ts'
import { RuleLoading } from './rule-loading.ts'

/** @throws InvalidConfigError for what a configuration cannot know by itself: a variable that it refers to is missing */
export type HandlerFor = (
  config: Config,
  metrics: Pick<Metrics, 'forwardResponse'>,
) => ClosableHandler | undefined

/** What a process does, and what it needs for that. */
export interface ServiceOptions {
  readonly config: Config
  /** What it answers at `config.listen`: everything, or what tells of the process itself. Absent: nothing. */
  readonly routes: 'all' | 'system' | undefined
  /** What it does with jobs, by its configuration: undefined while they have to wait. Absent: others see to them. */
  readonly handlerFor?: HandlerFor
  readonly log: Log
}

/** A job that there is none of. */
const PROBE = 'velvet-rope-readiness'
/** Milliseconds. */
const LAST_ANSWERS_MS = 2_000
/** Whoever asks whether it is ready, and how often, is not known. Microseconds. */
const READINESS_FRESH = 250_000

/**
 * The shaper with all that surrounds it in one process: HTTP in front, a worker behind, metrics, logs and
 * spans beside. It is composed here and nowhere else.
 *
 * | state    | meaning                                                                   | what leaves it     |
 * |----------|---------------------------------------------------------------------------|--------------------|
 * | serving  | jobs are accepted, and depart                                             | `stop`             |
 * | draining | `/readyz` and new jobs get 503; handlers end, or jobs that wait in memory | all ended, or late |
 * | ended    | nothing of it is left                                                     |                    |
 */
export class Service {
  readonly shaper: Shaper
  readonly metrics: Metrics
  readonly #meter: Meter | undefined
  readonly #log: Log
  readonly #rules: RuleLoading
  /** Of the configuration that it was started with. */
  readonly #handler: ClosableHandler | undefined
  readonly #worker: LiveWorker | undefined
  readonly #handlerFor: (config: Config) => ClosableHandler | undefined
  readonly #stopWatching: (() => void)[] = []
  #config: Config
  /** Of the data of a job, where jobs are requests. */
  #forwardFault: ReturnType<typeof forwardJudge> | undefined
  #app: HttpApp | undefined
  #server: HttpServer | undefined
  #recording: Recording | undefined
  #isDraining = false
  #readiness: Promise<unknown> = Promise.resolve()
  #readyUntil = 0

  private constructor({ config, routes, handlerFor, log }: ServiceOptions) {
    this.#config = config
    this.#forwardFault = config.forward && forwardJudge(config.forward)
    this.#log = log
    const forwardResponse = (statusClass: string) => this.metrics.forwardResponse(statusClass)
    this.#handlerFor = (of) => handlerFor?.(of, { forwardResponse })
    // Before anything is opened: this is what may still be wrong.
    this.#handler = this.#handlerFor(config)
    this.shaper = openShaper(config)
    // Nobody fills it but the API.
    this.#meter = routes === 'all' ? openMeter(config, this.shaper) : undefined
    // Of lines that many share, one kind of process counts.
    this.metrics = collectMetrics(this.shaper, {
      version: packageVersion(),
      process: true,
      buckets: routes === 'all',
    })
    this.#rules = new RuleLoading(this.shaper, log)
    this.#worker = handlerFor && new LiveWorker(this.shaper, config.work)
  }

  /**
   * Resolves when it can be used.
   *
   * @throws InvalidOptionsError, BackendUnavailableError or UnfitRedisError; then nothing of it is left
   */
  static async start(options: ServiceOptions): Promise<Service> {
    const service = new Service(options)
    try {
      await service.#start(options)
      return service
    } catch (error) {
      await service.stop({ drain: false })
      throw error
    }
  }

  /** Where it answers, `http://127.0.0.1:7077`; undefined if it does not. */
  get url(): string | undefined {
    return this.#server?.url
  }

  /**
   * Brings the parts that are live up to a configuration; jobs that run end as they began.
   *
   * @throws InvalidOptionsError or InvalidConfigError from `handlerFor`, InvalidConfigError when the last token is gone and others than this machine reach the
   * server; then all is as it was
   */
  use(config: Config): void {
    const before = this.#config
    if (this.#server !== undefined && config.tokens.length === 0 && !isLoopback(this.#server.address.host)) {
      throw new InvalidConfigError([
        {
          where: config.placeOf(['tokens']),
          message: `expected tokens while the server listens on ${this.#server.address.host}, which others reach, got: none`,
        },
      ])
    }
    const isAnother = this.#worker !== undefined && differ(config.forward, before.forward)
    const handler = isAnother ? this.#handlerFor(config) : undefined
    this.#config = config
    this.#log.level = config.log.level
    if (isAnother) this.#worker?.use(handler)
    this.#forwardFault = config.forward && forwardJudge(config.forward)
    const layers = layersAfter(limitLayers(before), limitLayers(config))
    if (layers.length > 0) void this.#rules.load(layers)
  }

  /** Writes the arrivals that wait to be written: into a new file, where the old one was moved away. */
  async flushRecording(): Promise<void> {
    await this.#recording?.flush()
  }

  /** Brings the limits of the configuration into force, whatever newer ones another process has brought. */
  loadRules(): Promise<void> {
    return this.#rules.load(limitLayers(this.#config))
  }

  /**
   * Refuses new jobs, lets handlers that run end within `drainMs` of the configuration, aborts the rest, and closes
   * everything. Jobs that wait stay in Redis. Those in memory are gone with the process, and are named in the log;
   * with `drain` they are waited for, however long that takes.
   */
  async stop({ drain }: { readonly drain: boolean }): Promise<void> {
    this.#isDraining = true
    this.#rules.close()
    this.#app?.endStreams()
    const { drainMs } = this.#config
    if (this.shaper.backend === 'redis') await this.#leaveRedis(drainMs)
    else await leaveMemory(this.shaper, { drain, drainMs, worker: this.#worker, log: this.#log })
    // A user's handler may never come to its end.
    await Promise.race([this.#worker?.close(), sleep(LAST_ANSWERS_MS, undefined, { ref: false })])
    await this.#server?.close(LAST_ANSWERS_MS)
    await this.#recording?.close()
    await this.#meter?.close()
    for (const stop of this.#stopWatching.splice(0)) stop()
    this.metrics.close()
  }

  /** While Redis is away nobody can be told what became of the jobs that ran: they come back when their leases end. */
  async #leaveRedis(drainMs: number): Promise<void> {
    const left = this.shaper.close({ drainMs }).then(() => true)
    const isLeft = await Promise.race([left, sleep(drainMs + LAST_ANSWERS_MS, false, { ref: false })])
    if (!isLeft) this.#log.warn('Redis did not answer in time: jobs that ran come back when their leases end')
  }

  async #start({ config, routes }: ServiceOptions): Promise<void> {
    this.#stopWatching.push(logShaper(this.shaper, this.#log), this.#tellOldRules())
    const stopTracing = await traceShaper(this.shaper)
    if (stopTracing !== undefined) this.#stopWatching.push(stopTracing)
    await this.shaper.ready()
    this.#worker?.use(this.#handler)
    // A line outlives its workers: jobs are to expire, and to be brought back, also while there is none.
    if (config.work.scheduler) this.shaper.schedule()
    if (config.record !== undefined && routes === 'all') {
      this.#recording = await Recording.start(this.shaper, { file: config.record, log: this.#log })
    }
    if (routes !== undefined) await this.#listen(config, routes)
  }

  #tellOldRules(): () => void {
    const onError = (error: Error) => {
      if (!isVelvetRopeError(error, 'old-rule-book')) return
      this.#log.warn(
        'limits of this configuration are not in force, but newer ones: SIGHUP brings these into force',
      )
    }
    this.shaper.on('error', onError)
    return () => void this.shaper.off('error', onError)
  }

  async #listen(config: Config, routes: 'all' | 'system'): Promise<void> {
    const log = this.#log
    const dashboard = routes === 'all' ? openDashboard() : undefined
    if (routes === 'all' && dashboard === undefined) {
      log.info('no dashboard at /: it was not built, as npm run build:dashboard does')
    }
    this.#app = createHttpApp(this.shaper, {
      ...config.http,
      routes,
      dashboard,
      version: packageVersion(),
      tokens: () => this.#config.tokens,
      meter: this.#meter,
      dataFault: (data) => this.#forwardFault?.(data),
      isDraining: () => this.#isDraining,
      readiness: () => this.#checkReadiness(),
      metrics: () => this.metrics.text(),
      onError: (error, requestId) => log.error('request failed', { requestId, error }),
      onRequest: (answered) => log.debug('answered', { ...answered }),
    })
    const hasTokens = config.tokens.length > 0
    const options = { ...config.listen, hasTokens, replacesGlobals: true }
    this.#server = await serveHttp(this.#app, options).catch((error: unknown) => {
      throw placedListenFault(error, config)
    })
  }

  #checkReadiness(): Promise<void> {
    const now = monotonicNow()
    if (now >= this.#readyUntil) {
      this.#readyUntil = now + READINESS_FRESH
      // To cancel is to write: what only can be read, such as a replica, is not ready.
      this.#readiness = this.shaper.ready().then(() => this.shaper.cancel(PROBE))
    }
    return this.#readiness.then(() => undefined)
  }
}

/** What has to be loaded after a change: what is new, first. A layer that the configuration fills no more is emptied. */
function layersAfter(before: readonly LimitLayer[], after: readonly LimitLayer[]): LimitLayer[] {
  const changed = after.filter((layer) => before.every((old) => differ(old, layer)))
  const left = before.filter(({ origin }) => after.every((layer) => layer.origin !== origin))
  return [...changed, ...left.map((layer) => ({ ...layer, limits: {} }))]
}

/** Of two parts of a configuration, which are plain data. */
function differ(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other)
}
