import type { z } from 'zod'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { nearest, parseOptions } from '../core/options.ts'
import { isSecretHeader, readHeaders } from './headers.ts'
import { PrivateHosts, readOrigin } from './origins.ts'
import { hasReference, Secrets } from './secrets.ts'
import { type ForwardSettings, forwardSettingsSchema } from './settings.ts'
import type { SettleRules } from './settling.ts'
import { signingKey } from './signature.ts'

const MOST_SHOWN = 3

/** Where jobs may send requests, and what they may ask for there. */
export interface ForwardReach {
  readonly allowed: ReadonlySet<string>
  readonly privateHosts: PrivateHosts
  /** Entries of `allowed` whose requests get headers with secrets. */
  readonly secretOrigins: ReadonlySet<string>
  /** The longest time limit that a job may set. */
  readonly maxTimeoutMs: number
}

/** The settings, checked and with all variables filled in. */
export interface ForwardPlan extends ForwardReach {
  /** By origin; names in lower case. */
  readonly headers: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly secrets: Secrets
  readonly signingKey: Buffer | undefined
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  readonly freezeMs: number
  readonly settle: SettleRules
}

/**
 * @throws InvalidOptionsError; no message shows the value of a variable
 */
export function readPlan(input: ForwardSettings, env: Readonly<NodeJS.ProcessEnv>): ForwardPlan {
  const settings = parseOptions(forwardSettingsSchema, input, 'forward')
  const { timeoutMs, maxResponseBytes, freezeMs, signing, settle } = settings
  const reach = reachOf(settings)
  const secrets = new Secrets(env)
  return {
    timeoutMs,
    maxResponseBytes,
    freezeMs,
    settle,
    ...reach,
    headers: readOriginHeaders(settings.headers, reach.allowed, secrets),
    signingKey: signing === undefined ? undefined : readSigningKey(signing.secret, secrets),
    secrets,
  }
}

/** The part of the settings that needs no variables. @throws InvalidOptionsError */
export function readReach(input: ForwardSettings): ForwardReach {
  return reachOf(parseOptions(forwardSettingsSchema, input, 'forward'))
}

function reachOf(settings: z.output<typeof forwardSettingsSchema>): ForwardReach {
  const { allow, allowPrivate, headers, timeoutMs, maxTimeoutMs } = settings
  const withSecrets = Object.entries(headers).filter(([, of]) => Object.values(of).some(hasReference))
  return {
    allowed: new Set(allow.map((origin) => readOrigin(origin, 'allow'))),
    privateHosts: new PrivateHosts(allowPrivate),
    secretOrigins: new Set(withSecrets.map(([origin]) => readOrigin(origin, 'headers'))),
    // A job that sets nothing gets `timeoutMs`, so one that sets as much asks for nothing more.
    maxTimeoutMs: Math.max(maxTimeoutMs, timeoutMs),
  }
}

function readOriginHeaders(
  given: Readonly<Record<string, Readonly<Record<string, string>>>>,
  allowed: ReadonlySet<string>,
  secrets: Secrets,
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const byOrigin = new Map<string, ReadonlyMap<string, string>>()
  for (const [text, headers] of Object.entries(given)) {
    const origin = readOrigin(text, 'headers')
    if (!allowed.has(origin)) {
      const known = [...allowed]
      const meant = nearest(origin, known)
      const hint =
        meant === undefined
          ? `allow contains ${known.slice(0, MOST_SHOWN).join(', ')}`
          : `did you mean ${meant}?`
      throw new InvalidOptionsError(
        `forward: expected headers to be for an origin in allow, got: ${quote(origin)}; ${hint}`,
      )
    }
    if (byOrigin.has(origin)) throw new InvalidOptionsError(`forward: headers has ${origin} twice`)
    const filled = Object.entries(headers).map(([name, value]) => {
      const what = `headers of ${origin}, ${name.toLowerCase()},`
      if (isSecretHeader(name) && !hasReference(value)) {
        throw new InvalidOptionsError(
          `forward: expected ${what} to refer to a variable as \${NAME}, got a literal value`,
        )
      }
      return [name, secrets.fill(value, what)] as const
    })
    byOrigin.set(
      origin,
      readHeaders(Object.fromEntries(filled), (fault) => {
        throw new InvalidOptionsError(`forward: headers of ${origin}: ${fault}`)
      }),
    )
  }
  return byOrigin
}

function readSigningKey(secret: string, secrets: Secrets): Buffer {
  if (!hasReference(secret)) {
    throw new InvalidOptionsError(
      `forward: expected signing.secret to refer to a variable as \${NAME}, got a literal value`,
    )
  }
  const filled = secrets.fill(secret, 'signing.secret')
  const key = signingKey(filled)
  if (key === undefined) {
    throw new InvalidOptionsError(
      'forward: expected the variable of signing.secret to be whsec_ and base64 of 24 to 64 bytes, got another form',
    )
  }
  secrets.add(filled.replace(/^whsec_/, ''))
  return key
}
