import { quote } from '../core/describe.ts'
import { nearest } from '../core/options.ts'
import type { ConfigProblem } from './config-error.ts'
import { SETTING_NAMES, type SettingName, type VariableForm } from './names.ts'

/** Names the configuration file if the command line does not. */
export const FILE_VARIABLE = 'VELVET_ROPE_CONFIG'

const PREFIX = 'VELVET_ROPE_'

/** Variables that client commands read. */
const CLIENT_VARIABLES = ['TOKEN', 'URL']

/** Kubernetes sets these in every pod if there is a Service named velvet-rope. */
const OF_KUBERNETES = /^(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/
/** Also set by Kubernetes; any other value was probably meant for `LISTEN`. */
const PORT_OF_KUBERNETES = /^(tcp|udp|sctp):\/\//

/** A setting from a variable. */
export interface GivenByVariable {
  readonly setting: SettingName
  readonly variable: string
  readonly value: unknown
}

/** Reads the variables `VELVET_ROPE_*`; an empty one counts as absent. No message shows a value that may be secret. */
export function readVariables(env: Readonly<NodeJS.ProcessEnv>): {
  given: GivenByVariable[]
  problems: ConfigProblem[]
} {
  const given: GivenByVariable[] = []
  const problems = unknownVariables(env)
  for (const setting of SETTING_NAMES) {
    const variable = PREFIX + setting.variable
    const text = env[variable]
    if (text === undefined || text === '') continue
    const read = readAs(setting.form, text, variable)
    if ('value' in read) given.push({ setting, variable, value: read.value })
    else problems.push({ where: variable, message: `expected ${read.expected}` })
  }
  return { given, problems }
}

type Read = { readonly value: unknown } | { readonly expected: string }

function readAs(form: VariableForm, text: string, variable: string): Read {
  switch (form) {
    case 'text':
      return { value: text }
    case 'number':
      return /^\s*\d{1,15}(\.\d{1,15})?\s*$/.test(text)
        ? { value: Number(text) }
        : { expected: `a number in digits, got: ${quote(text)}` }
    case 'boolean':
      return text === 'true' || text === 'false'
        ? { value: text === 'true' }
        : { expected: `true or false, got: ${quote(text)}` }
    case 'list': {
      const parts = text.split(',').map((part) => part.trim())
      return { value: parts.filter((part) => part !== '') }
    }
    case 'json':
      try {
        return { value: JSON.parse(text) }
      } catch {
        // The engine's message would show part of the text.
        return { expected: `JSON, got: ${text.length} characters that are not JSON` }
      }
    case 'secret':
      return { value: `\${${variable}}` }
  }
}

const BY_OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['PORT', 'LISTEN'],
  ['HOST', 'LISTEN'],
  ['REDIS_URL', 'REDIS'],
  ['FILE', 'CONFIG'],
])

function unknownVariables(env: Readonly<NodeJS.ProcessEnv>): ConfigProblem[] {
  const known = [...SETTING_NAMES.map(({ variable }) => variable), ...CLIENT_VARIABLES, 'CONFIG']
  const names = Object.keys(env).filter((name) => name.startsWith(PREFIX) && env[name])
  return names.flatMap((variable) => {
    const name = variable.slice(PREFIX.length)
    if (known.includes(name) || OF_KUBERNETES.test(name)) return []
    if (name === 'PORT' && PORT_OF_KUBERNETES.test(env[variable]!)) return []
    const suggestion = BY_OTHER_NAMES.get(name) ?? nearest(name, known)
    const hint =
      suggestion === undefined
        ? `known are ${known.map((other) => PREFIX + other).join(', ')}`
        : `did you mean ${PREFIX}${suggestion}?`
    return [{ where: variable, message: `unknown variable: ${hint}` }]
  })
}
