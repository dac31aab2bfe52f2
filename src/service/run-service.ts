import { renderChanges } from '../config/changes.ts'
import type { Config } from '../config/config.ts'
import { type ConfigSources, loadConfig } from '../config/load-config.ts'
import { type ConfigWatch, watchConfig } from '../config/watch-config.ts'
import { createForwardHandler } from '../forward/forward-handler.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import { assertForwardable, assertUsable } from './assert-usable.ts'
import type { ClosableHandler } from './live-worker.ts'
import { type HandlerFor, Service } from './service.ts'
import { terminationSignal } from './termination.ts'

export interface RunOptions {
  /** Where the configuration comes from. */
  readonly sources: ConfigSources
  /**
   * Whether it serves the API. Otherwise it serves only its health and metrics, and only if a flag or the environment
   * sets `listen`.
   */
  readonly api: boolean
  /**
   * What it does with jobs: forwards them as configured, or passes them to a handler. Default: other processes run
   * them; or, without `redis`, it forwards them if it can, since no other process could.
   */
  readonly work?: 'forward' | ClosableHandler
  /** Whether to wait for jobs in memory at the end. Default: no; they are lost and logged. */
  readonly drain?: boolean
}

/**
 * Runs a service in this process until SIGTERM or SIGINT, and reloads its configuration when the file changes and at
 * SIGHUP. A second SIGTERM or SIGINT ends the process at once.
 */
export async function runService({ sources, api, work, drain = false }: RunOptions): Promise<void> {
  const config = await loadConfig(sources)
  // In a shared file, `listen` is the address of the API.
  const hasAddress = ['environment', 'flag'].includes(config.origins['listen'] ?? '')
  const routes = api ? 'all' : hasAddress ? 'system' : undefined
  assertUsable(config, { api, forwards: work === 'forward', listens: routes !== undefined })
  const log = createLog({ level: config.log.level })
  // Before anything is opened, because the first job may start early; and SIGHUP must never end the process, even
  // during shutdown.
  const terminated = terminationSignal()
  let onHangup: () => void = () => undefined
  process.on('SIGHUP', () => onHangup())
  const isWorking = work !== undefined || config.redis === undefined
  const handlerFor = isWorking ? handlerFactory(work, sources, log) : undefined
  const service = await Service.start({ config, routes, handlerFor, log })
  warnOfGaps(config, service, work, log)
  const watch = follow(sources, config, service, log)
  onHangup = async () => {
    const outcome = await watch.reload()
    log.info('configuration reloaded', { outcome })
    if (outcome !== 'refused') await service.loadRules()
    await service.flushRecording()
  }
  const { name, redis, file } = config
  const where = { shaper: name, backend: redis === undefined ? 'memory' : 'redis', config: file }
  log.info(api ? 'listening' : 'working', { url: service.url, ...where })

  const signal = await terminated
  log.info('shutting down: new jobs are rejected; signal again to end at once', {
    signal,
    drainMs: config.drainMs,
  })
  onHangup = () => undefined
  watch.close()
  await service.stop({ drain })
  log.info('ended')
}

function follow(sources: ConfigSources, current: Config, service: Service, log: Log): ConfigWatch {
  return watchConfig({
    ...sources,
    current,
    onChange: (next, changes) => {
      service.use(next)
      service.metrics.configReload('success')
      log.info('configuration changed', { changes: renderChanges(changes) })
    },
    onError: (error) => {
      service.metrics.configReload('failure')
      log.error('configuration not changed: the last good one stays in force', { error })
    },
  })
}

function handlerFactory(work: RunOptions['work'], { env }: ConfigSources, log: Log): HandlerFor {
  if (typeof work === 'function') return () => work
  return (config, { forwardResponse: onResponse }) => {
    assertForwardable(config, env)
    const { maxFreezeMs } = config.work
    const onUnsettled = (origin: string, unit: string, reason: string) =>
      log.warn('answers leave the estimate: said once for each origin and unit', { origin, unit, reason })
    return (
      config.forward && createForwardHandler(config.forward, { env, maxFreezeMs, onResponse, onUnsettled })
    )
  }
}

/** Warns of settings that an operator may have forgotten. */
function warnOfGaps(
  { redis, forward }: Config,
  { shaper }: Service,
  work: RunOptions['work'],
  log: Log,
): void {
  // On Redis, other processes may have set some.
  if (shaper.limits.list().length === 0) {
    log.warn("no limits: keys are rejected until there is one, such as '*': 100, 10/s")
  }
  if (redis === undefined && work === undefined && forward === undefined) {
    log.warn('no forward: jobs wait until there is one')
  }
}
