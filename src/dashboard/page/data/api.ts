import { token } from './token.ts'

/** An answer that is not what was asked for (RFC 9457), or that never came: then `status` is 0. */
export class ApiProblem extends Error {
  readonly status: number
  /** The end of its type, such as `rule-book-changed`. */
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
  /** The version of the rule book that was looked at. */
  readonly ifVersion?: number
  readonly accept?: string
  readonly signal?: AbortSignal
}

/** Asks the API, which is beside the page. @throws ApiProblem */
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

/** A key or a pattern as a part of a path: whole, also where it holds a `/`. */
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
