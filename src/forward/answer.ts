import type { Secrets } from './secrets.ts'

/** What is kept of an answer: the result of its job. */
export interface ForwardResult {
  readonly status: number
  /** A few that say what the answer is or how much may still be asked; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Decompressed, if it came compressed though nobody asked for that. */
  readonly body: string
  /** `base64`: it is not UTF-8. */
  readonly encoding: 'text' | 'base64'
  /** There was more than is kept. Nothing is, of a body in a coding that cannot be read. */
  readonly truncated: boolean
}

/** As undici gives them: a header that came more than once is a list. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

const KEPT =
  /^(?:content-(?:type|language)|etag|last-modified|location|request-id|idempotent-replayed|(?:x-)?rate-?limit(?:-[a-z-]+)?|x-request-id)$/
const MOST_HEADERS = 32
const LONGEST_HEADER = 1_024

/** Words and numbers of a program: no prose, which would repeat what was sent. */
const WORD = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/
const REQUEST_ID = /^[\w.:-]{1,128}$/
const GREATEST_CODE = 999_999

/** Fields whose lines are parts of one list (RFC 9110, section 5.3). */
const LISTS: ReadonlySet<string> = new Set(['ratelimit', 'ratelimit-policy'])

/** The value of a header: of one that is expected once the first line, of a list all of them. */
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
 * By what the other side names a refusal, as ` (card_declined, request-id req_7)`, or an empty text. Messages of errors
 * are logged, and what a refusal says at length may be what the job had sent: so nothing else of it is told.
 */
export function nameOfRefusal(headers: AnswerHeaders, body: Buffer, secrets: Secrets): string {
  const given = headerOf(headers, 'request-id') ?? headerOf(headers, 'x-request-id')
  const id = given === undefined ? '' : secrets.hide(given)
  const names = [codeIn(body), REQUEST_ID.test(id) ? `request-id ${id}` : undefined]
  const known = names.filter((name) => name !== undefined)
  return known.length === 0 ? '' : ` (${known.join(', ')})`
}

/** `{ code }`, `{ error: { code } }` or `{ errors: [{ code }] }` of JSON; `type` where there is no `code`. */
function codeIn(body: Buffer): string | undefined {
  const said = parseJson(body.toString())
  const errors = fieldOf(said, 'errors')
  const holders = [fieldOf(said, 'error'), Array.isArray(errors) ? errors[0] : undefined, said]
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
