import { globTest } from './commands/glob.ts'
import { refuse } from './reply.ts'

const DEFAULTS: Readonly<Record<string, string>> = {
  appendfsync: 'everysec',
  appendonly: 'no',
  databases: '16',
  maxclients: '10000',
  maxmemory: '0',
  'maxmemory-policy': 'noeviction',
  'notify-keyspace-events': '',
  port: '6379',
  'proto-max-bulk-len': '536870912',
  save: '',
  timeout: '0',
}
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1_024,
  m: 1e6,
  mb: 1_024 ** 2,
  g: 1e9,
  gb: 1_024 ** 3,
}

/** The settings of CONFIG that clients look at; only some of them do something. */
export class Settings {
  readonly #values = new Map(Object.entries(DEFAULTS))

  get maxmemory(): number {
    return Number(this.#values.get('maxmemory'))
  }

  get(name: string): string {
    return this.#values.get(name) ?? ''
  }

  /** Names and values of all that match one of the patterns. */
  matching(patterns: readonly string[]): string[] {
    const tests = patterns.map((pattern) => globTest(pattern.toLowerCase()))
    return [...this.#values].filter(([name]) => tests.some((test) => test(name))).flat()
  }

  /** @throws CommandError */
  set(name: string, value: string): void {
    const known = name.toLowerCase()
    if (!this.#values.has(known)) {
      refuse(`ERR Unknown option or number of arguments for CONFIG SET - '${name}'`)
    }
    this.#values.set(known, known === 'maxmemory' ? `${bytes(name, value)}` : value)
  }
}

function bytes(name: string, text: string): number {
  const [, digits, unit] = /^(\d+)([a-z]*)$/i.exec(text) ?? []
  const factor = UNITS[unit?.toLowerCase() ?? '?']
  return factor === undefined
    ? refuse(
        `ERR CONFIG SET failed (possibly related to argument '${name}') - argument must be a memory value`,
      )
    : Number(digits) * factor
}
