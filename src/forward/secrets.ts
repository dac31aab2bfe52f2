import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
/** A shorter value is no secret, and would match everywhere. */
const SHORTEST = 4
/** A shorter piece of a secret that was cut is left: it says little, and would match everywhere. */
const PIECE = 6
const STAR = 0x2a

/**
 * Fills in references to environment variables, remembers the values, and hides them in what the third party returns.
 */
export class Secrets {
  readonly #env: Readonly<NodeJS.ProcessEnv>
  readonly #values = new Set<string>()
  #needles: readonly Buffer[] = []
  #wideNeedles: readonly Buffer[] = []

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

  /** Hides `value` from now on, also as JSON, in a URL, in base64 and in UTF-16. */
  add(value: string): void {
    if (value.length < SHORTEST || this.#values.has(value)) return
    this.#values.add(value)
    const forms = [...this.#values].flatMap(formsOf).filter(({ length }) => length >= SHORTEST)
    const texts = [...new Set(forms)].sort((a, b) => b.length - a.length)
    this.#needles = texts.map((text) => Buffer.from(text))
    this.#wideNeedles = texts.flatMap((text) => [
      Buffer.from(text, 'utf16le'),
      Buffer.from(text, 'utf16le').swap16(),
    ])
  }

  /** The longest form of a secret, in bytes: to find one across a cut, search this far beyond it. */
  get longest(): number {
    return Math.max(0, ...this.#wideNeedles.map(({ length }) => length))
  }

  hide(text: string): string {
    const bytes = Buffer.from(text)
    this.hideBytes(bytes)
    return bytes.toString()
  }

  /**
   * Overwrites secrets in `bytes` in place, so that they may be cut afterwards; also what is left of one that was cut off before
   * the start or behind the end.
   */
  hideBytes(bytes: Buffer): void {
    // The secrets are ASCII, which has a zero in each character of UTF-16.
    const needles = bytes.includes(0) ? [...this.#needles, ...this.#wideNeedles] : this.#needles
    for (const needle of needles) {
      for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) {
        bytes.fill(STAR, at, at + needle.length)
      }
    }
    for (const needle of needles) hidePieces(bytes, needle)
  }
}

/** The texts as which a third party may return a secret. */
function formsOf(secret: string): string[] {
  return [
    secret,
    secret.trim(),
    JSON.stringify(secret).slice(1, -1),
    secret.replaceAll('/', '\\/'),
    // Values beyond ASCII fit into no header anyway.
    /^[\x20-\x7e]*$/.test(secret) ? encodeURIComponent(secret) : secret,
    ...[0, 1, 2].flatMap((before) => base64Of(secret, before)),
  ]
}

/** What base64 has of a secret, whatever surrounds it: the characters that it alone decides. @param before bytes, modulo 3 */
function base64Of(secret: string, before: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)])
  const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)]
  return [bytes.toString('base64').slice(from, to), bytes.toString('base64url').slice(from, to)]
}

/** Overwrites a part of the needle that is all there is, an end of it at the start, and a beginning of it at the end. */
function hidePieces(bytes: Buffer, needle: Buffer): void {
  if (bytes.length < PIECE || needle.length <= PIECE) return
  if (bytes.length < needle.length && needle.includes(bytes)) {
    bytes.fill(STAR)
    return
  }
  const last = needle.subarray(-PIECE)
  for (let at = bytes.lastIndexOf(last, needle.length - PIECE); at !== -1; ) {
    const end = at + PIECE
    if (bytes.subarray(0, end).equals(needle.subarray(-end))) bytes.fill(STAR, 0, end)
    at = at === 0 ? -1 : bytes.lastIndexOf(last, at - 1)
  }
  const first = needle.subarray(0, PIECE)
  for (let at = bytes.indexOf(first, -needle.length); at !== -1; at = bytes.indexOf(first, at + 1)) {
    if (bytes.subarray(at).equals(needle.subarray(0, bytes.length - at))) bytes.fill(STAR, at)
  }
}

/** Whether `text` refers to an environment variable. */
export function hasReference(text: string): boolean {
  return text.search(REFERENCE) !== -1
}
