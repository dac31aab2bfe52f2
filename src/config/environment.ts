import { quote } from '../core/describe.ts'
import { nearest } from '../core/options.ts'
import type { ConfigProblem } from './config-error.ts'
import { SETTING_NAMES, type SettingName, type VariableForm } from './names.ts'

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Names the file, where the command line does not. */
export const FILE_VARIABLE = 'VELVET_ROPE_CONFIG'

const BEGINNING = 'VELVET_ROPE_'

/** Read by the commands that talk to a server. */
const OF_CLIENTS = ['TOKEN', 'URL']

/** What Kubernetes gives to every process beside a Service with the name velvet-rope. */
const OF_KUBERNETES = /^(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/
/** Of its making as well, unless somebody meant `LISTEN`. */
const PORT_OF_KUBERNETES = /^(tcp|udp|sctp):\/\//

/** A value that a variable gives to a setting. */
export interface GivenByVariable {
  readonly setting: SettingName
  readonly variable: string
  readonly value: unknown
}

/** Reads the variables `VELVET_ROPE_*`; an empty one counts as absent. No message shows what may be a secret. */
export function readVariables(env: Environment): { given: GivenByVariable[]; problems: ConfigProblem[] } {
  const given: GivenByVariable[] = []
  const problems = unknownVariables(env)
  for (const setting of SETTING_NAMES) {
    const variable = BEGINNING + setting.variable
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
        // What the engine says shows a piece of the text.
        return { expected: `JSON, got: ${text.length} characters that are none` }
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

function unknownVariables(env: Environment): ConfigProblem[] {
  const known = [...SETTING_NAMES.map(({ variable }) => variable), ...OF_CLIENTS, 'CONFIG']
  const names = Object.keys(env).filter((name) => name.startsWith(BEGINNING) && env[name])
  return names.flatMap((variable) => {
    const name = variable.slice(BEGINNING.length)
    if (known.includes(name) || OF_KUBERNETES.test(name)) return []
    if (name === 'PORT' && PORT_OF_KUBERNETES.test(env[variable]!)) return []
    const suggestion = BY_OTHER_NAMES.get(name) ?? nearest(name, known)
    const hint =
      suggestion === undefined
        ? `known are ${known.map((other) => BEGINNING + other).join(', ')}`
        : `did you mean ${BEGINNING}${suggestion}?`
    return [{ where: variable, message: `unknown variable: ${hint}` }]
  })
}
