import type { z } from 'zod'
import type { BucketPage, BucketQueryInput } from '../backend/bucket-query.ts'
import { quote } from '../core/describe.ts'
import {
  BackendUnavailableError,
  InvalidKeyError,
  isVelvetRopeError,
  RuleBookConflictError,
  type VelvetRopeError,
} from '../core/errors.ts'
import type { Admission } from '../core/job.ts'
import type { JobExplanation } from '../shaper/explanation.ts'
import type { ResetOptions, RuleView } from '../shaper/limits.ts'
import type { LocalRuleView } from '../shaper/local-ropes.ts'
import type { EnqueueOptions, EnqueueRequest } from '../shaper/options.ts'
import type { PreviewedChange } from '../shaper/preview-change.ts'
import type { RulePreview } from '../shaper/rule-preview.ts'
import { type ApiProblemError, readProblem, readVersion } from './api-problem.ts'
import {
  explanationReply,
  localRuleReply,
  pageReply,
  previewReply,
  type RuleBookView,
  readVerdicts,
  ruleReply,
  rulesReply,
} from './api-replies.ts'
import { slicesOf } from './job-slices.ts'

export interface ApiClientOptions {
  readonly url: URL
  /** Sent as a bearer token; shows up in no message. */
  readonly token?: string | undefined
  /** How long the service may take for an answer. Default: 10 s. */
  readonly timeoutMs?: number
}

interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly body?: unknown
  /** The version of the rule book that it is meant for. */
  readonly ifVersion?: number
}

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly retryAfter: string | null
}

/**
 * The HTTP API of a running service, with the names of a shaper.
 *
 * Every call throws BackendUnavailableError when nobody answers, and ApiProblemError when the service says no; a change
 * of the rule book RuleBookConflictError when another version is in force than it was meant for.
 */
export class ApiClient {
  readonly #url: URL
  readonly #token: string | undefined
  readonly #timeoutMs: number
  readonly #ending = new AbortController()

  constructor({ url, token, timeoutMs = 10_000 }: ApiClientOptions) {
    this.#url = url
    this.#token = token
    this.#timeoutMs = timeoutMs
  }

  async enqueue(key: string, data: unknown, options: EnqueueOptions = {}): Promise<Admission> {
    const [verdict] = await this.#send([{ ...options, key, data }])
    if (verdict instanceof Error) throw verdict
    return verdict!
  }

  /**
   * The verdicts in the order of the requests; in the place of one that nobody could admit stands why. Not one step:
   * when it throws, some may have been admitted, and those with an id can be sent again.
   */
  async enqueueMany(
    requests: readonly EnqueueRequest<unknown>[],
  ): Promise<readonly (Admission | ApiProblemError)[]> {
    const verdicts: (Admission | ApiProblemError)[] = []
    for (const slice of slicesOf(requests)) verdicts.push(...(await this.#sendOrSplit(slice)))
    return verdicts
  }

  /** One page of live buckets. */
  async buckets(query: BucketQueryInput = {}): Promise<BucketPage> {
    const text = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) text.set(name, String(value))
    }
    return this.#ask(pageReply, `v1/buckets?${text}`)
  }

  /** Undefined for a job that the service does not know, or the token may not see. */
  async explain(id: string): Promise<JobExplanation | undefined> {
    const answer = await this.#call(`v1/jobs/${encodeURIComponent(id)}/explanation`)
    return this.#isUnknown(answer) ? undefined : this.#read(explanationReply, answer)
  }

  /** Every rule that the token may see, and behind them the limits of the service's own process. */
  async limits(): Promise<RuleBookView> {
    return this.#ask(rulesReply, 'v1/limits')
  }

  async setLimit(pattern: string, limit: string, options?: ResetOptions): Promise<RuleView> {
    return this.#ask(ruleReply, limitPath(pattern), { method: 'PUT', body: { limit }, ...options })
  }

  /** False when there was none. */
  unsetLimit(pattern: string, options?: ResetOptions): Promise<boolean> {
    return this.#remove(limitPath(pattern), options)
  }

  /** Drops what was set by hand, so that what the layers below say is in force again; false when nothing was. */
  resetLimit(pattern: string, options?: ResetOptions): Promise<boolean> {
    return this.#remove(`${limitPath(pattern)}?override=only`, options)
  }

  /** What a change by hand would do. */
  async previewLimit(change: PreviewedChange): Promise<RulePreview> {
    if ('set' in change) {
      const [pattern, limit] = change.set
      return this.#ask(previewReply, `${limitPath(pattern)}?dryRun=true`, { method: 'PUT', body: { limit } })
    }
    const query =
      'reset' in change
        ? `${limitPath(change.reset)}?dryRun=true&override=only`
        : `${limitPath(change.unset)}?dryRun=true`
    return this.#ask(previewReply, query, { method: 'DELETE' })
  }

  /** Limits the service's own process, and no other. */
  async setLocalLimit(pattern: string, limit: string): Promise<LocalRuleView> {
    const path = `${limitPath(pattern)}?scope=local`
    return this.#ask(localRuleReply, path, { method: 'PUT', body: { limit } })
  }

  /** False when there was none. */
  unsetLocalLimit(pattern: string): Promise<boolean> {
    return this.#remove(`${limitPath(pattern)}?scope=local`)
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#ending.abort()
  }

  /** A call that is refused as a whole admits none; halves of it find who is to blame, and the others get in. */
  async #sendOrSplit(
    requests: readonly EnqueueRequest<unknown>[],
  ): Promise<readonly (Admission | ApiProblemError)[]> {
    try {
      return await this.#send(requests)
    } catch (error) {
      if (!isFaultOfOne(error)) throw error
      if (requests.length === 1) return [error]
      const half = requests.length >> 1
      const first = await this.#sendOrSplit(requests.slice(0, half))
      return [...first, ...(await this.#sendOrSplit(requests.slice(half)))]
    }
  }

  async #send(jobs: readonly EnqueueRequest<unknown>[]): Promise<readonly (Admission | ApiProblemError)[]> {
    const answer = await this.#call('v1/jobs', { method: 'POST', body: { jobs } })
    // A problem holds them as well: when everybody was turned away.
    const verdicts = readVerdicts(answer.body, jobs)
    if (verdicts !== undefined) return verdicts
    if (answer.status < 300) throw this.#strange(answer, 'expected a verdict for each job')
    throw this.#problem(answer)
  }

  async #ask<Reply>(schema: z.ZodType<Reply>, path: string, call?: Call): Promise<Reply> {
    return this.#read(schema, await this.#call(path, call), call)
  }

  #read<Reply>(schema: z.ZodType<Reply>, answer: Answer, call?: Call): Reply {
    if (answer.status >= 300) throw this.#problem(answer, call)
    const parsed = schema.safeParse(answer.body)
    if (parsed.success) return parsed.data
    const [issue] = parsed.error.issues
    const where = issue?.path.join('.')
    throw this.#strange(answer, `${where ? `${where}: ` : ''}${issue?.message}`)
  }

  async #remove(path: string, options?: ResetOptions): Promise<boolean> {
    const answer = await this.#call(path, { method: 'DELETE', ...options })
    if (answer.status === 204) return true
    if (answer.status < 300) throw this.#strange(answer, 'expected an answer without content')
    if (this.#isUnknown(answer)) return false
    throw this.#problem(answer, options)
  }

  /** Said by a service of ours, and not by whoever else answers at a wrong address. */
  #isUnknown(answer: Answer): boolean {
    const problem = this.#problem(answer)
    return answer.status === 404 && 'problem' in problem && problem.problem === 'not-found'
  }

  async #call(path: string, { method = 'GET', body, ifVersion }: Call = {}): Promise<Answer> {
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
        // A token is for the service that was named, and for no other.
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

  #problem({ status, body, retryAfter }: Answer, { ifVersion }: Call = {}): VelvetRopeError {
    const version = status === 412 && ifVersion !== undefined ? readVersion(body) : undefined
    if (version !== undefined) return new RuleBookConflictError(ifVersion!, version)
    return readProblem({ status, body, retryAfter, hasToken: this.#token !== undefined })
  }

  #strange({ status }: Answer, fault: string): ApiProblemError {
    const detail = `is ${this.#url.href} a velvet-rope of this version? ${fault}`
    return readProblem({ status, body: { detail }, hasToken: true })
  }

  #reason(error: unknown): string {
    if (!(error instanceof Error)) return String(error)
    if (error.name === 'TimeoutError') return `nothing came within ${this.#timeoutMs / 1_000} s`
    // `fetch failed` says nothing; what it failed of is inside, and of several tries there the first counts.
    const inner = error.cause instanceof AggregateError ? error.cause.errors[0] : error.cause
    return inner instanceof Error ? inner.message : error.message
  }
}

/** Undefined for what is no JSON, such as the page of a proxy. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether the size or the content of a job was refused, and not who sent it. */
function isFaultOfOne(error: unknown): error is ApiProblemError {
  return (
    isVelvetRopeError(error, 'api-refused') && 'status' in error && [413, 422].includes(Number(error.status))
  )
}

function limitPath(pattern: string): string {
  // A URL drops these two, however they are written.
  if (pattern === '.' || pattern === '..') {
    throw new InvalidKeyError(`expected a pattern that a URL can name, got: ${quote(pattern)}`)
  }
  return `v1/limits/${encodeURIComponent(pattern)}`
}
