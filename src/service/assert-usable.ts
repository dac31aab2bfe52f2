import type { Config } from '../config/config.ts'
import { InvalidConfigError } from '../config/config-error.ts'
import { forwardFaults } from '../config/forward-faults.ts'
import type { SettingPath } from '../config/paths.ts'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError, isVelvetRopeError } from '../core/errors.ts'
import { isOfThisMachine } from '../http/server-options.ts'

/** The duties of a process. */
export interface Duties {
  /** Whether it serves the API. */
  readonly api: boolean
  /** Whether it forwards jobs. */
  readonly forwards: boolean
  /** Whether it listens at all. */
  readonly listens: boolean
}

/**
 * Checks that a configuration has what this process needs; another process may not need it.
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
  // On Redis, other processes may set them.
  if (redis === undefined && Object.keys(limits).length === 0) {
    throw refused(
      config,
      ['limits'],
      "expected limits, without which every key is rejected, such as limits: { '*': '100, 10/s' } or --limit '100, 10/s', got: none",
    )
  }
  if (listens && tokens.length === 0 && !isOfThisMachine(listen.host)) {
    throw refused(
      config,
      ['listen'],
      'expected listen to be localhost, 127.0.0.1 or ::1 with a port while there are no tokens, since every client ' +
        `that reaches the server has full access, got: ${quote(listen.host)}; add tokens to listen there`,
    )
  }
}

/**
 * @throws InvalidConfigError with the place of each part that is not usable here, such as a missing variable
 */
export function assertForwardable(config: Config, env: Readonly<NodeJS.ProcessEnv>): void {
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

/** Adds the place in the configuration to an error about the address; returns any other error as it is. */
export function placedListenFault(error: unknown, config: Config): unknown {
  if (!isVelvetRopeError(error, 'invalid-options')) return error
  return refused(config, ['listen'], error.message.replace(/^serveHttp: /, ''))
}

function refused(config: Config, path: SettingPath, message: string): InvalidConfigError {
  return new InvalidConfigError([{ where: config.placeOf(path), message }])
}
