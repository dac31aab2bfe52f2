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
  readonly sources: ConfigSources
  /** Whether it is the API. Else it answers only for itself, and where a flag or the environment says so. */
  readonly api: boolean
  /**
   * What it does with jobs: forwards them as the configuration says, or gives them to a handler. Absent: workers
   * elsewhere see to them; or, without `redis`, it forwards them if it can, since nobody else could.
   */
  readonly work?: 'forward' | ClosableHandler
  /** Whether jobs that wait in memory are waited for at the end. Default: they are given up, by name. */
  readonly drain?: boolean
}

/**
 * Runs a service in this process until SIGTERM or SIGINT, and follows its configuration: when the file changes, and at
 * SIGHUP. A second SIGTERM or SIGINT ends the process at once.
 *
 * @throws InvalidConfigError, InvalidOptionsError, BackendUnavailableError or UnfitRedisError
 */
export async function runService({ sources, api, work, drain = false }: RunOptions): Promise<void> {
  const config = await loadConfig(sources)
  // In a file, which all may share, it is the address of the API.
  const hasAddress = ['environment', 'flag'].includes(config.origins['listen'] ?? '')
  const routes = api ? 'all' : hasAddress ? 'system' : undefined
  assertUsable(config, { api, forwards: work === 'forward', listens: routes !== undefined })
  const log = createLog({ level: config.log.level })
  // The first job may have begun before all has been opened; and a hangup never ends it, not even on its way down.
  const terminated = terminationSignal()
  let onHangup: () => void = () => undefined
  process.on('SIGHUP', () => onHangup())
  const isWorking = work !== undefined || config.redis === undefined
  const handlerFor = isWorking ? handlerMaker(work, sources) : undefined
  const service = await Service.start({ config, routes, handlerFor, log })
  tellGaps(config, service, work, log)
  const watch = follow(sources, config, service, log)
  onHangup = async () => {
    const outcome = await watch.reload()
    log.info('configuration read again', { outcome })
    if (outcome !== 'refused') await service.loadRules()
    await service.flushRecording()
  }
  const { name, redis, file } = config
  const where = { shaper: name, backend: redis === undefined ? 'memory' : 'redis', config: file }
  log.info(api ? 'listening' : 'working', { url: service.url, ...where })

  const signal = await terminated
  log.info('going down: new jobs are refused; again to end at once', { signal, drainMs: config.drainMs })
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

function handlerMaker(work: RunOptions['work'], { env }: ConfigSources): HandlerFor {
  if (typeof work === 'function') return () => work
  return (config, { forwardResponse: onResponse }) => {
    assertForwardable(config, env)
    const { maxFreezeMs } = config.work
    return config.forward && createForwardHandler(config.forward, { env, maxFreezeMs, onResponse })
  }
}

/** What an operator may have forgotten, and would wonder about. */
function tellGaps({ redis, forward }: Config, { shaper }: Service, work: RunOptions['work'], log: Log): void {
  // Those of a shared line, which others may have brought.
  if (shaper.limits.list().length === 0) {
    log.warn("no limits: keys are refused until there is one, such as '*': 100, 10/s")
  }
  if (redis === undefined && work === undefined && forward === undefined) {
    log.warn('no forward: jobs wait, and nothing departs, until there is one')
  }
}
