import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { InvalidConfigError } from '../config/config-error.ts'
import { monotonicNow } from '../core/clock.ts'
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
import { closeMemoryShaper } from './close-memory-shaper.ts'
import { type ClosableHandler, LiveWorker } from './live-worker.ts'
import { limitLayers, openMeter, openShaper } from './open-shaper.ts'
import { packageVersion } from './package-version.ts'
import { Recording } from './recording.ts'
import { differ, layersAfter, RuleLoading, warnOfOldRules } from './rule-loading.ts'

/**
 * @throws InvalidConfigError for what a configuration alone does not show: a variable that it refers to is missing
 */
export type HandlerFor = (
  config: Config,
  metrics: Pick<Metrics, 'forwardResponse'>,
) => ClosableHandler | undefined

/** The duties of a process, and what it needs for them. */
export interface ServiceOptions {
  readonly config: Config
  /** The routes at `config.listen`: all, or only health and metrics. Undefined: it does not listen. */
  readonly routes: 'all' | 'system' | undefined
  /** Creates the handler of a configuration; undefined while jobs have to wait. Absent: other processes run jobs. */
  readonly handlerFor?: HandlerFor
  readonly log: Log
}

/** The id of a job that does not exist. */
const PROBE = 'velvet-rope-readiness'
/** Milliseconds. */
const LAST_ANSWERS_MS = 2_000
/** How long a readiness result is reused, in microseconds, however often it is requested. */
const READINESS_FRESH = 250_000

/**
 * Composes the shaper and everything around it in one process: HTTP, a worker, metrics, logs and spans.
 *
 * | state    | meaning                                                               | left when          |
 * |----------|-----------------------------------------------------------------------|--------------------|
 * | serving  | jobs are accepted, and depart                                         | `stop` is called   |
 * | draining | `/readyz` and new jobs get 503; handlers or jobs in memory may finish | all ended, or late |
 * | ended    | everything is closed                                                  |                    |
 */
export class Service {
  readonly shaper: Shaper
  readonly metrics: Metrics
  readonly #meter: Meter | undefined
  readonly #log: Log
  readonly #rules: RuleLoading
  /** The handler of its first configuration. */
  readonly #handler: ClosableHandler | undefined
  readonly #worker: LiveWorker | undefined
  readonly #handlerFor: (config: Config) => ClosableHandler | undefined
  readonly #stopWatching: (() => void)[] = []
  #config: Config
  /** Checks the data of a job if jobs are HTTP requests. */
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
    // Before anything is opened, because this may still fail.
    this.#handler = this.#handlerFor(config)
    this.shaper = openShaper(config)
    // Only the API fills it.
    this.#meter = routes === 'all' ? openMeter(config, this.shaper) : undefined
    // If processes share lines, only one kind of process counts buckets.
    this.metrics = collectMetrics(this.shaper, {
      version: packageVersion(),
      process: true,
      buckets: routes === 'all',
    })
    this.#rules = new RuleLoading(this.shaper, log)
    this.#worker =
      handlerFor && new LiveWorker(this.shaper, { ...config.work, maxTimeoutMs: longestTimeoutMs(config) })
  }

  /**
   * Starts the service; resolves when it can be used.
   *
   * @throws InvalidOptionsError, BackendUnavailableError or UnfitRedisError; then everything is closed again
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

  /** The URL at which it listens, `http://127.0.0.1:7077`; undefined if it does not. */
  get url(): string | undefined {
    return this.#server?.url
  }

  /**
   * Applies a configuration to the parts that can change while it runs; running jobs end as they began.
   *
   * @throws InvalidOptionsError or InvalidConfigError from `handlerFor`, InvalidConfigError if there is no token any
   * more and other machines can reach the server; then nothing has changed
   */
  use(config: Config): void {
    const before = this.#config
    if (this.#server !== undefined && config.tokens.length === 0 && !isLoopback(this.#server.address.host)) {
      throw new InvalidConfigError([
        {
          where: config.placeOf(['tokens']),
          message: `expected tokens while the server listens on ${this.#server.address.host}, which other machines can reach, got: none`,
        },
      ])
    }
    const hasChanged = this.#worker !== undefined && differ(config.forward, before.forward)
    const handler = hasChanged ? this.#handlerFor(config) : undefined
    this.#config = config
    this.#log.level = config.log.level
    if (hasChanged) this.#worker?.use(handler)
    this.#forwardFault = config.forward && forwardJudge(config.forward)
    const layers = layersAfter(limitLayers(before), limitLayers(config))
    if (layers.length > 0) void this.#rules.load(layers)
  }

  /** Writes the collected arrivals: into a new file if the old one was moved away. */
  async flushRecording(): Promise<void> {
    await this.#recording?.flush()
  }

  /** Puts the limits of the configuration into force, even over newer ones from another process. */
  loadRules(): Promise<void> {
    return this.#rules.load(limitLayers(this.#config))
  }

  /**
   * Rejects new jobs, lets running handlers end within `drainMs` of the configuration, aborts the rest, and closes
   * everything. Waiting jobs stay in Redis. Those in memory are lost with the process and are logged; with `drain` it
   * waits for them, however long that takes.
   */
  async stop({ drain }: { readonly drain: boolean }): Promise<void> {
    this.#isDraining = true
    this.#rules.close()
    this.#app?.endStreams()
    const { drainMs } = this.#config
    if (this.shaper.backend === 'redis') await this.#closeRedisShaper(drainMs)
    else await closeMemoryShaper(this.shaper, { drain, drainMs, worker: this.#worker, log: this.#log })
    // A user's handler may never end.
    await Promise.race([this.#worker?.close(), sleep(LAST_ANSWERS_MS, undefined, { ref: false })])
    await this.#server?.close(LAST_ANSWERS_MS)
    await this.#recording?.close()
    await this.#meter?.close()
    for (const stop of this.#stopWatching.splice(0)) stop()
    this.metrics.close()
  }

  /**
   * While Redis is unavailable, the outcome of running jobs cannot be reported: they return to their lines when their
   * leases end.
   */
  async #closeRedisShaper(drainMs: number): Promise<void> {
    const left = this.shaper.close({ drainMs }).then(() => true)
    const isLeft = await Promise.race([left, sleep(drainMs + LAST_ANSWERS_MS, false, { ref: false })])
    if (!isLeft)
      this.#log.warn('Redis did not reply in time: running jobs return to their lines when their leases end')
  }

  async #start({ config, routes }: ServiceOptions): Promise<void> {
    this.#stopWatching.push(logShaper(this.shaper, this.#log), warnOfOldRules(this.shaper, this.#log))
    const stopTracing = await traceShaper(this.shaper)
    if (stopTracing !== undefined) this.#stopWatching.push(stopTracing)
    await this.shaper.ready()
    this.#worker?.use(this.#handler)
    // Expired jobs must be removed and lost jobs recovered even while there is no worker.
    if (config.work.scheduler) this.shaper.schedule()
    if (config.record !== undefined && routes === 'all') {
      this.#recording = await Recording.start(this.shaper, { file: config.record, log: this.#log })
    }
    if (routes !== undefined) await this.#listen(config, routes)
  }

  async #listen(config: Config, routes: 'all' | 'system'): Promise<void> {
    const log = this.#log
    const dashboard = routes === 'all' ? openDashboard() : undefined
    if (routes === 'all' && dashboard === undefined) {
      log.info('no dashboard at /: it was not built (npm run build:dashboard)')
    }
    const { maxConnections, maxConnectionsPerAddress, ...http } = config.http
    this.#app = createHttpApp(this.shaper, {
      ...http,
      routes,
      dashboard,
      version: packageVersion(),
      tokens: () => this.#config.tokens,
      meter: this.#meter,
      maxTimeoutMs: longestTimeoutMs(config),
      dataFault: (data) => this.#forwardFault?.(data),
      isDraining: () => this.#isDraining,
      readiness: () => this.#checkReadiness(),
      metrics: () => this.metrics.text(),
      onError: (error, requestId) => log.error('request failed', { requestId, error }),
      onRequest: (answered) => log.debug('answered', { ...answered }),
    })
    this.#app.describe()
    const hasTokens = config.tokens.length > 0
    const bounds = { maxConnections, maxConnectionsPerAddress }
    const options = { ...config.listen, ...bounds, hasTokens, replacesGlobals: true }
    this.#server = await serveHttp(this.#app, options).catch((error: unknown) => {
      throw placedListenFault(error, config)
    })
  }

  #checkReadiness(): Promise<void> {
    const now = monotonicNow()
    if (now >= this.#readyUntil) {
      this.#readyUntil = now + READINESS_FRESH
      // A cancellation is a write: a store that is read-only, such as a replica, is not ready.
      this.#readiness = this.shaper.ready().then(() => this.shaper.cancel(PROBE))
    }
    return this.#readiness.then(() => undefined)
  }
}

/** A job that brings no time limit gets the default one, so one that brings as much asks for nothing more. */
function longestTimeoutMs({ work, jobDefaults }: Config): number {
  return Math.max(work.maxTimeoutMs, jobDefaults.timeoutMs)
}
