import { token } from './token.ts'

/** A problem that the API answered (RFC 9457); `status` is 0 when there was no answer. */
export class ApiProblem extends Error {
  readonly status: number
  /** The last part of its type, such as `rule-book-changed`. */
  readonly problem: string
  readonly retryAfterMs: number | undefined

  constructor(status: number, problem: string, message: string, retryAfterMs?: number) {
    super(message)
    this.status = status
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
}

interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly body?: unknown
  /** The version of the rule book that the change is meant for. */
  readonly ifVersion?: number
  readonly accept?: string
  readonly signal?: AbortSignal
}

/** Calls the API, relative to the page. @throws ApiProblem */
export async function ask(path: string, call: Call = {}): Promise<Response> {
  const { method = 'GET', body, ifVersion, accept = 'application/json', signal } = call
  const headers = new Headers({ Accept: accept })
  const held = token.get()
  if (held !== '') headers.set('Authorization', `Bearer ${held}`)
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  if (ifVersion !== undefined) headers.set('If-Match', `"${ifVersion}"`)
  const url = new URL(path, document.baseURI)
  const response = await fetch(url, {
    method,
    headers,
    cache: 'no-store',
    signal: signal ?? null,
    body: body === undefined ? null : JSON.stringify(body),
  }).catch((error: Error) => {
    if (error.name === 'AbortError') throw error
    throw new ApiProblem(0, 'unreachable', 'The service cannot be reached.')
  })
  if (response.ok) return response
  throw await problemOf(response)
}

export async function askJson<Answer>(path: string, call: Call = {}): Promise<Answer> {
  const response = await ask(path, call)
  return (await response.json()) as Answer
}

/** Encodes a key or a pattern as one part of a path, including each `/`. */
export function subject(text: string): string {
  return encodeURIComponent(text)
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const { status, headers } = response
  const body = (await response.json().catch(() => ({}))) as Readonly<Record<string, unknown>>
  const said = [body['detail'], body['title']].find((text) => typeof text === 'string')
  const type = typeof body['type'] === 'string' ? body['type'] : ''
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN)
  return new ApiProblem(
    status,
    type.slice(type.lastIndexOf(':') + 1),
    said ?? `The service answered ${status}.`,
    Number.isFinite(seconds) ? seconds * 1_000 : undefined,
  )
}
