import { isVelvetRopeError } from '../core/errors.ts'
import { readPlan } from '../forward/plan.ts'
import type { ForwardSettings } from '../forward/settings.ts'
import type { SettingPath } from './paths.ts'

interface ForwardFault {
  /** Below `forward`. */
  readonly path: SettingPath
  readonly isAboutName: boolean
  readonly message: string
}

/** A value for every variable: a process that does not forward reads the same file without having the variables. */
const ANY_VARIABLE: Readonly<Record<string, string>> = new Proxy(
  {},
  { get: () => `whsec_${Buffer.alloc(32).toString('base64')}` },
)

const EXAMPLE = 'https://api.example.com'

/**
 * Returns what the forwarder would reject, each part with its place.
 *
 * @param env where variables are looked up. Default: every variable exists, since their values are not checked
 */
export function forwardFaults(
  { allow, allowPrivate = [], headers = {}, signing }: ForwardSettings,
  env: Readonly<NodeJS.ProcessEnv> = ANY_VARIABLE,
): ForwardFault[] {
  const faults: ForwardFault[] = []
  const attempt = (settings: ForwardSettings, path: SettingPath, isAboutName = false): boolean => {
    try {
      readPlan(settings, env)
      return true
    } catch (error) {
      if (!isVelvetRopeError(error)) throw error
      faults.push({ path, isAboutName, message: error.message })
      return false
    }
  }
  const allowed = allow.filter((origin, index) => attempt({ allow: [origin] }, ['allow', index]))
  allowPrivate.forEach((host, index) => {
    attempt({ allow: [EXAMPLE], allowPrivate: [host] }, ['allowPrivate', index])
  })
  for (const [origin, given] of Object.entries(headers)) {
    const path = ['headers', origin]
    // A fault in `allow` is reported once.
    const among = allowed.length < allow.length || allow.length === 0 ? [...allowed, origin] : allowed
    if (!attempt({ allow: among, headers: { [origin]: {} } }, path, true)) continue
    for (const [name, value] of Object.entries(given)) {
      attempt({ allow: [origin], headers: { [origin]: { [name]: value } } }, [...path, name])
    }
  }
  if (signing !== undefined) attempt({ allow: [EXAMPLE], signing }, ['signing', 'secret'])
  // Each part may be valid and the whole not: an origin that is listed twice, in two spellings.
  if (faults.length === 0 && allow.length > 0) attempt({ allow, headers }, ['headers'])
  return faults
}
