import type { Config } from '../config/config.ts'
import { InvalidConfigError } from '../config/config-error.ts'
import { forwardFaults } from '../config/forward-faults.ts'
import type { SettingPath } from '../config/paths.ts'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError, isVelvetRopeError } from '../core/errors.ts'
import type { Environment } from '../forward/secrets.ts'
import { isOfThisMachine } from '../http/server-options.ts'

/** What a process is to do with its configuration. */
export interface Duties {
  /** Whether it is the API. */
  readonly api: boolean
  readonly forwards: boolean
  /** Whether it answers at `listen`. */
  readonly listens: boolean
}

/**
 * What a configuration lacks for one process, which another process may do without.
 *
 * @throws InvalidConfigError or InvalidOptionsError
 */
export function assertUsable(config: Config, { api, forwards, listens }: Duties): void {
  const { redis, forward, limits, listen, tokens } = config
  if (!api && redis === undefined) {
    throw new InvalidOptionsError(
      'expected --redis, VELVET_ROPE_REDIS, REDIS_URL or redis in the configuration to say where the line is, such as ' +
        'redis://127.0.0.1:6379, got: nothing',
    )
  }
  if (forwards && forward === undefined) {
    throw new InvalidOptionsError(
      'expected --allow, VELVET_ROPE_ALLOW or forward in the configuration to say what jobs may call, such as ' +
        "forward: { allow: ['https://api.stripe.com'] }, got: nothing",
    )
  }
  // On a shared line other processes may bring them.
  if (redis === undefined && Object.keys(limits).length === 0) {
    throw refused(
      config,
      ['limits'],
      "expected limits, without which every key is refused, such as limits: { '*': '100, 10/s' } or --limit '100, 10/s', got: none",
    )
  }
  if (listens && tokens.length === 0 && !isOfThisMachine(listen.host)) {
    throw refused(
      config,
      ['listen'],
      'expected listen to be localhost, 127.0.0.1 or ::1 with a port while there are no tokens, since everybody who ' +
        `reaches the server may do everything, got: ${quote(listen.host)}; add tokens to listen there`,
    )
  }
}

/** @throws InvalidConfigError naming the place of each part that cannot be used here, such as a missing variable */
export function assertForwardable(config: Config, env: Environment): void {
  const { forward } = config
  const problems = forward === undefined ? [] : forwardFaults(forward, env)
  if (problems.length === 0) return
  throw new InvalidConfigError(
    problems.map(({ path, isAboutName, message }) => ({
      where: config.placeOf(['forward', ...path], isAboutName),
      message,
    })),
  )
}

/** An address that cannot be had, with its place in the configuration; any other error as it is. */
export function placedListenFault(error: unknown, config: Config): unknown {
  if (!isVelvetRopeError(error, 'invalid-options')) return error
  return refused(config, ['listen'], error.message.replace(/^serveHttp: /, ''))
}

function refused(config: Config, path: SettingPath, message: string): InvalidConfigError {
  return new InvalidConfigError([{ where: config.placeOf(path), message }])
}
