import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
/** A shorter value is no secret, and would match everywhere. */
const SHORTEST = 4
const STAR = 0x2a

/**
 * Fills in references to environment variables, remembers the values, and hides them in what the third party returns.
 */
export class Secrets {
  readonly #env: Readonly<NodeJS.ProcessEnv>
  readonly #values = new Set<string>()
  #needles: readonly string[] = []

  constructor(env: Readonly<NodeJS.ProcessEnv>) {
    this.#env = env
  }

  /**
   * @param what the name of the setting in the message
   * @returns `text` with the value of NAME for every `${NAME}`
   * @throws InvalidOptionsError with the name of the missing or empty variable, never a value
   */
  fill(text: string, what: string): string {
    if (text.replace(REFERENCE, '').includes('${')) {
      throw new InvalidOptionsError(
        `forward: expected ${what} to refer to variables as \${NAME}, got another form`,
      )
    }
    return text.replace(REFERENCE, (_, name: string) => {
      const value = this.#env[name]
      if (value === undefined || value === '') {
        throw new InvalidOptionsError(
          `forward: expected the environment to have ${name}, which ${what} refers to, got: ${quote(value ?? 'nothing')}`,
        )
      }
      this.add(value)
      return value
    })
  }

  /** Hides `value` from now on, also in JSON and in URLs. */
  add(value: string): void {
    if (value.length < SHORTEST) return
    this.#values.add(value)
    const forms = [...this.#values].flatMap((secret) => [
      secret,
      secret.trim(),
      JSON.stringify(secret).slice(1, -1),
      secret.replaceAll('/', '\\/'),
      // Values beyond ASCII fit into no header anyway.
      /^[\x20-\x7e]*$/.test(secret) ? encodeURIComponent(secret) : secret,
    ])
    this.#needles = [...new Set(forms)]
      .filter(({ length }) => length >= SHORTEST)
      .sort((a, b) => b.length - a.length)
  }

  /** The longest secret, in bytes: to find one across a cut, search this far beyond it. */
  get longest(): number {
    return Math.max(0, ...this.#needles.map((needle) => Buffer.byteLength(needle)))
  }

  hide(text: string): string {
    return this.#needles.reduce((shown, needle) => shown.replaceAll(needle, '*'.repeat(needle.length)), text)
  }

  /** Overwrites secrets in `bytes` in place, so that they may be cut afterwards. */
  hideBytes(bytes: Buffer): void {
    for (const needle of this.#needles) {
      const length = Buffer.byteLength(needle)
      for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + length)) {
        bytes.fill(STAR, at, at + length)
      }
    }
  }
}

/** Whether `text` refers to an environment variable. */
export function hasReference(text: string): boolean {
  return text.search(REFERENCE) !== -1
}
