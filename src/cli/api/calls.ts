import type { z } from 'zod'
import { BackendUnavailableError, type VelvetRopeError } from '../../core/errors.ts'
import { RuleBookConflictError } from '../../core/rule-errors.ts'
import { type ApiProblemError, readProblem, readVersion } from './problem.ts'

export interface ApiClientOptions {
  readonly url: URL
  /** Sent as a bearer token; no message shows it. */
  readonly token?: string | undefined
  /** The time limit for an answer. Default: 10 s. */
  readonly timeoutMs?: number
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly body?: unknown
  /** The version of the rule book that the change is meant for. */
  readonly ifVersion?: number
}

export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly retryAfter: string | null
}

/** Sends calls to a service, and turns unexpected answers into errors. */
export class ApiCalls {
  readonly #url: URL
  readonly #token: string | undefined
  readonly #timeoutMs: number
  readonly #ending = new AbortController()

  constructor({ url, token, timeoutMs = 10_000 }: ApiClientOptions) {
    this.#url = url
    this.#token = token
    this.#timeoutMs = timeoutMs
  }

  /** Aborts the calls in flight. */
  end(): void {
    this.#ending.abort()
  }

  /** Sends a call and parses its answer. */
  async ask<Reply>(schema: z.ZodType<Reply>, path: string, call?: Call): Promise<Reply> {
    return this.read(schema, await this.call(path, call), call)
  }

  read<Reply>(schema: z.ZodType<Reply>, answer: Answer, call?: Call): Reply {
    if (answer.status >= 300) throw this.problem(answer, call)
    const parsed = schema.safeParse(answer.body)
    if (parsed.success) return parsed.data
    const [issue] = parsed.error.issues
    const where = issue?.path.join('.')
    throw this.strange(answer, `${where ? `${where}: ` : ''}${issue?.message}`)
  }

  /** Sends a POST whose answer has no content. */
  async act(path: string, body?: unknown): Promise<void> {
    const answer = await this.call(path, { method: 'POST', body })
    if (answer.status >= 300) throw this.problem(answer)
    if (answer.status !== 204) throw this.strange(answer, 'expected an answer without content')
  }

  /** Sends a DELETE. Returns false when there was nothing to remove. */
  async remove(path: string, options?: Pick<Call, 'ifVersion'>): Promise<boolean> {
    const answer = await this.call(path, { method: 'DELETE', ...options })
    if (answer.status === 204) return true
    if (answer.status < 300) throw this.strange(answer, 'expected an answer without content')
    if (this.isUnknown(answer)) return false
    throw this.problem(answer, options)
  }

  /** Whether the answer is a `not-found` problem of a velvet-rope, and not some other 404. */
  isUnknown(answer: Answer): boolean {
    const problem = this.problem(answer)
    return answer.status === 404 && 'problem' in problem && problem.problem === 'not-found'
  }

  async call(path: string, { method = 'GET', body, ifVersion }: Call = {}): Promise<Answer> {
    const headers = {
      ...(ifVersion !== undefined && { 'if-match': `"${ifVersion}"` }),
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
    }
    const signal = AbortSignal.any([AbortSignal.timeout(this.#timeoutMs), this.#ending.signal])
    try {
      const response = await fetch(new URL(path, this.#url), {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        signal,
        // The token must reach only the given service.
        redirect: 'manual',
      })
      const text = await response.text()
      return { status: response.status, body: parse(text), retryAfter: response.headers.get('retry-after') }
    } catch (error) {
      throw new BackendUnavailableError(
        `the service at ${this.#url.origin} does not answer: ${this.#reason(error)}`,
        { cause: error },
      )
    }
  }

  problem({ status, body, retryAfter }: Answer, { ifVersion }: Call = {}): VelvetRopeError {
    const version = status === 412 && ifVersion !== undefined ? readVersion(body) : undefined
    if (version !== undefined) return new RuleBookConflictError(ifVersion!, version)
    return readProblem({ status, body, retryAfter, hasToken: this.#token !== undefined })
  }

  strange({ status }: Answer, fault: string): ApiProblemError {
    const detail = `is ${this.#url.href} a velvet-rope of this version? ${fault}`
    return readProblem({ status, body: { detail }, hasToken: true })
  }

  #reason(error: unknown): string {
    if (!(error instanceof Error)) return String(error)
    if (error.name === 'TimeoutError') return `no answer within ${this.#timeoutMs / 1_000} s`
    // The cause of `fetch failed` is inside; of several attempts the first one counts.
    const inner = error.cause instanceof AggregateError ? error.cause.errors[0] : error.cause
    return inner instanceof Error ? inner.message : error.message
  }
}

/** Parses JSON; undefined for anything else, such as the page of a proxy. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
