import { messageOf, toError } from '../core/thrown.ts'

const HIDDEN = '[redacted]'
const LEFT_OUT = '[...]'
const DEEPEST = 5
const MOST_ENTRIES = 100
const MOST_VALUES = 1_000
const LONGEST_TEXT = 1_000
/** Searched before the cut, so that no secret is cut in two and then missed. */
const LONGEST_READ = 16_000

/** Names of fields that contain secrets or user data, with any prefix or suffix: `apiToken`, `job.data`. */
const SECRET_NAMES =
  /pass(?:word|wd|phrase)?$|secret|token|authorization|cookie|api-?_?key|credential|private-?_?key/i
const PAYLOAD_NAMES: ReadonlySet<string> = new Set([
  'data',
  'payload',
  'body',
  'result',
  'returnvalue',
  'args',
  'command',
])

/**
 * What is hidden in a text.
 *
 * | in a text                                       | is written                                  |
 * |-------------------------------------------------|---------------------------------------------|
 * | `redis://user:password@host`                    | `redis://[redacted]@host`                   |
 * | `Bearer 3q2-7w`, `Basic dXNlcg==`               | `Bearer [redacted]`                         |
 * | `token=3q2-7w`, `"password":"x"`                | `token=[redacted]`                          |
 * | `authorization: 3q2-7w`, to the end of the line | `authorization: [redacted]`                 |
 * | `..., with args beginning with: 'x'` (Redis)    | `..., with args beginning with: [redacted]` |
 */
const SECRETS: readonly RegExp[] = [
  /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"']{1,1000}(?=@)/gi,
  /\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{4,}/gi,
  /((?:pass(?:word|wd|phrase)|secret|token|api[-_]?key)(?:=|["']\s*:\s*["']))[^\s"'&,;]+/gi,
  /((?:authorization|cookie|x-api-key)["']?\s{0,9}[:=]\s{0,9}["']?)[^\r\n"']+/gi,
  /(, with args beginning with: ).*/gs,
]
/** Characters that end a line or control a terminal in some viewers, or reverse the order of text. */
const INVISIBLE = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Removes secrets from a text, and bounds its length. */
export function redactText(text: string): string {
  let safe = text.slice(0, LONGEST_READ)
  for (const secret of SECRETS) safe = safe.replace(secret, `$1${HIDDEN}`)
  safe = safe.replace(INVISIBLE, '\ufffd')
  return safe.length > LONGEST_TEXT ? `${safe.slice(0, LONGEST_TEXT - 3)}...` : safe
}

/**
 * Returns a copy that is safe to log, of plain values only: secrets and payloads hidden, errors reduced, texts
 * redacted, everything bounded. Unreadable values are left out; it never throws.
 */
export function redactFields(fields: object): Record<string, unknown> {
  return new Copy(fields).entriesOf(fields, 0)
}

class Copy {
  #left = MOST_VALUES
  readonly #above: Set<object>

  constructor(root: object) {
    this.#above = new Set([root])
  }

  entriesOf(source: object, depth: number): Record<string, unknown> {
    return Object.fromEntries(
      keysOf(source).map((name) => {
        const copy = isHidden(name) ? HIDDEN : this.#value(() => Reflect.get(source, name), depth + 1)
        return [redactText(name), copy]
      }),
    )
  }

  #value(read: () => unknown, depth: number): unknown {
    if (this.#left-- <= 0) return LEFT_OUT
    try {
      return this.#copy(read(), depth)
    } catch {
      // A getter or a proxy threw.
      return LEFT_OUT
    }
  }

  #copy(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return redactText(value)
    if (typeof value === 'bigint') return redactText(String(value))
    if (typeof value === 'function' || typeof value === 'symbol') return undefined
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Error) return errorFields(value)
    if (value instanceof Date) return redactText(value.toISOString())
    if (value instanceof URL) return redactText(value.href)
    if (depth >= DEEPEST || this.#above.has(value) || ArrayBuffer.isView(value)) return LEFT_OUT
    this.#above.add(value)
    const copy = Array.isArray(value)
      ? Array.from({ length: Math.min(value.length, MOST_ENTRIES) }, (_, index) =>
          this.#value(() => value[index], depth + 1),
        )
      : this.entriesOf(value, depth)
    this.#above.delete(value)
    return copy
  }
}

/** The safe fields of an error: errors of clients carry commands, arguments and payloads, so nothing else is copied. */
function errorFields(thrown: unknown): { name: string; message: string; code?: string } {
  const error = toError(thrown)
  const code: unknown = 'code' in error ? error.code : undefined
  return {
    name: redactText(String(error.name)),
    message: redactText(messageOf(error)),
    ...((typeof code === 'string' || typeof code === 'number') && { code: redactText(String(code)) }),
  }
}

function keysOf(source: object): string[] {
  try {
    return Object.keys(source).slice(0, MOST_ENTRIES)
  } catch {
    return []
  }
}

function isHidden(name: string): boolean {
  return PAYLOAD_NAMES.has(name.toLowerCase()) || SECRET_NAMES.test(name)
}
