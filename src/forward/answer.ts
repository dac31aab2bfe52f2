import type { Secrets } from './secrets.ts'

/** The stored part of a response: the result of its job. */
export interface ForwardResult {
  readonly status: number
  /** Headers about the content and about rate limits; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Decompressed, if it came compressed without being asked for. */
  readonly body: string
  /** `base64`: it is not UTF-8. */
  readonly encoding: 'text' | 'base64'
  /** The body was longer than what is stored. Nothing is stored of a body in an unknown coding. */
  readonly truncated: boolean
}

/** As in undici: a repeated header is a list. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

const KEPT =
  /^(?:content-(?:type|language)|etag|last-modified|location|request-id|idempotent-replayed|(?:x-)?rate-?limit(?:-[a-z-]+)?|x-request-id)$/
const MOST_HEADERS = 32
const LONGEST_HEADER = 1_024

/** Machine-readable codes only: prose may repeat what was sent. */
const WORD = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/
const REQUEST_ID = /^[\w.:-]{1,128}$/
const GREATEST_CODE = 999_999

/** Fields whose lines are parts of one list (RFC 9110, section 5.3). */
const LISTS: ReadonlySet<string> = new Set(['ratelimit', 'ratelimit-policy'])

/** Returns the value of a header: the first line, or for a list all of them. */
export function headerOf(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name]
  if (!Array.isArray(value)) return value
  return LISTS.has(name) ? value.join(', ') : value[0]
}

export function keptHeaders(headers: AnswerHeaders, secrets: Secrets): Record<string, string> {
  const kept = Object.keys(headers)
    .filter((name) => KEPT.test(name))
    .slice(0, MOST_HEADERS)
    .map((name) => [name, secrets.hide(headerOf(headers, name) ?? '').slice(0, LONGEST_HEADER)])
  return Object.fromEntries(kept)
}

/**
 * Returns the code and id of an error response, such as ` (card_declined, request-id req_7)`, or an empty text. Error
 * messages are logged, and the prose of a response may repeat what the job had sent, so nothing else is included.
 */
export function nameOfRefusal(headers: AnswerHeaders, body: Buffer, secrets: Secrets): string {
  const given = headerOf(headers, 'request-id') ?? headerOf(headers, 'x-request-id')
  const id = given === undefined ? '' : secrets.hide(given)
  const names = [codeIn(body), REQUEST_ID.test(id) ? `request-id ${id}` : undefined]
  const known = names.filter((name) => name !== undefined)
  return known.length === 0 ? '' : ` (${known.join(', ')})`
}

/**
 * The code in JSON of the form `{ code }`, `{ error: { code } }` or `{ errors: [{ code }] }`; `type` if there is no
 * `code`.
 */
function codeIn(body: Buffer): string | undefined {
  const parsed = parseJson(body.toString())
  const errors = fieldOf(parsed, 'errors')
  const holders = [fieldOf(parsed, 'error'), Array.isArray(errors) ? errors[0] : undefined, parsed]
  return holders
    .flatMap((holder) => [fieldOf(holder, 'code'), fieldOf(holder, 'type')])
    .map(wordOf)
    .find((word) => word !== undefined)
}

function wordOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= GREATEST_CODE) {
    return String(value)
  }
  return typeof value === 'string' && WORD.test(value) ? value : undefined
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
