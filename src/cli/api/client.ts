import { isVelvetRopeError } from '../../core/errors.ts'
import type { JobExplanation } from '../../core/explanation-view.ts'
import type { Admission } from '../../core/job.ts'
import { checkKey } from '../../core/key.ts'
import type { LocalRuleView, RulePreview, RuleView } from '../../core/rule-view.ts'
import type { Costs } from '../../core/usage.ts'
import type { BucketPage, BucketQueryInput } from '../../line/bucket-query.ts'
import type { FamilyPage, FamilyQueryInput } from '../../line/family-query.ts'
import type { PreviewedChange } from '../../line/preview-change.ts'
import type { ResetOptions } from '../../line/rule-options.ts'
import type { EnqueueOptions, EnqueueRequest, FindOptions, SettleOptions } from '../../shaper/options.ts'
import { ApiCalls, type ApiClientOptions, type Call } from './calls.ts'
import type { ApiProblemError } from './problem.ts'
import {
  explanationReply,
  familyPageReply,
  localRuleReply,
  pageReply,
  previewReply,
  type RuleList,
  readVerdicts,
  ruleBookReply,
  ruleReply,
  settledReply,
} from './replies.ts'

/**
 * The HTTP API of a running service, with the method names of a shaper.
 *
 * Every call throws BackendUnavailableError when the service does not answer, and ApiProblemError when it refuses.
 * Changes of the rule book throw RuleBookConflictError when another version is in force than the given one.
 */
export class ApiClient {
  readonly #calls: ApiCalls

  constructor(options: ApiClientOptions) {
    this.#calls = new ApiCalls(options)
  }

  async enqueue(key: string, data: unknown, options: EnqueueOptions = {}): Promise<Admission> {
    const [verdict] = await this.#send([{ ...options, key, data }])
    if (verdict instanceof Error) throw verdict
    return verdict!
  }

  /**
   * Returns the verdicts in the order of the requests, with an error in place of each job that cannot be admitted. Not
   * atomic: when it throws, some jobs may have been admitted, and those with an id can be sent again.
   */
  async enqueueMany(
    requests: readonly EnqueueRequest<unknown>[],
  ): Promise<readonly (Admission | ApiProblemError)[]> {
    const verdicts: (Admission | ApiProblemError)[] = []
    for (const slice of slicesOf(requests)) verdicts.push(...(await this.#sendOrSplit(slice)))
    return verdicts
  }

  /** Reads one page of live buckets. */
  async buckets(query: BucketQueryInput = {}): Promise<BucketPage> {
    return this.#calls.ask(pageReply, `v1/buckets?${textOf(query)}`)
  }

  /** Reads one page of live totals. */
  async families(query: FamilyQueryInput = {}): Promise<FamilyPage> {
    return this.#calls.ask(familyPageReply, `v1/families?${textOf(query)}`)
  }

  /** Returns undefined for a job that is unknown or that the token may not see. */
  async explain(id: string, options: FindOptions = {}): Promise<JobExplanation | undefined> {
    const answer = await this.#calls.call(`${jobPath(id)}/explanation${queryOf(options)}`)
    return this.#calls.isUnknown(answer) ? undefined : this.#calls.read(explanationReply, answer)
  }

  async freeze(key: string, forMs: number): Promise<void> {
    return this.#calls.act(`${bucketPath(key)}/freeze`, { forMs })
  }

  /** Returns false when the key was not frozen. */
  unfreeze(key: string): Promise<boolean> {
    return this.#calls.remove(`${bucketPath(key)}/freeze`)
  }

  async pause(key: string): Promise<void> {
    return this.#calls.act(`${bucketPath(key)}/pause`)
  }

  async resume(key: string): Promise<void> {
    return this.#calls.act(`${bucketPath(key)}/resume`)
  }

  /** Returns false when the job is unknown or has departed. */
  async cancel(id: string, options: FindOptions = {}): Promise<boolean> {
    try {
      return await this.#calls.remove(`${jobPath(id)}${queryOf(options)}`)
    } catch (error) {
      if (isVelvetRopeError(error, 'api-refused') && 'problem' in error && error.problem === 'departed')
        return false
      throw error
    }
  }

  /** Returns false when the start was settled before, and when the job is unknown, or does not run in the one that is meant. */
  async settle(id: string, costs: Costs, { key, ...which }: SettleOptions = {}): Promise<boolean> {
    const call = { method: 'POST', body: { costs, ...which } } as const
    const answer = await this.#calls.call(`${jobPath(id)}/settle${queryOf({ key })}`, call)
    return !this.#calls.isUnknown(answer) && this.#calls.read(settledReply, answer).settled
  }

  /** Lists the rules that the token may see, followed by the limits of the service's own process. */
  async limits(): Promise<RuleList> {
    return this.#calls.ask(ruleBookReply, 'v1/limits')
  }

  async setLimit(pattern: string, limit: string, options?: ResetOptions): Promise<RuleView> {
    return this.#calls.ask(ruleReply, limitPath(pattern), { method: 'PUT', body: { limit }, ...options })
  }

  /** Returns false when there was none. */
  unsetLimit(pattern: string, options?: ResetOptions): Promise<boolean> {
    return this.#calls.remove(limitPath(pattern), options)
  }

  /** Drops what was set by hand, so that lower layers apply again. Returns false when nothing was set. */
  resetLimit(pattern: string, options?: ResetOptions): Promise<boolean> {
    return this.#calls.remove(`${limitPath(pattern)}?override=only`, options)
  }

  /** Previews a change by hand. */
  async previewLimit(change: PreviewedChange): Promise<RulePreview> {
    const ask = (pattern: string, query: string, call: Call) =>
      this.#calls.ask(previewReply, `${limitPath(pattern)}?dryRun=true${query}`, call)
    if ('set' in change) return ask(change.set[0], '', { method: 'PUT', body: { limit: change.set[1] } })
    if ('reset' in change) return ask(change.reset, '&override=only', { method: 'DELETE' })
    return ask(change.unset, '', { method: 'DELETE' })
  }

  /** Sets a limit of the service's own process alone. */
  async setLocalLimit(pattern: string, limit: string): Promise<LocalRuleView> {
    const path = `${limitPath(pattern)}?scope=local`
    return this.#calls.ask(localRuleReply, path, { method: 'PUT', body: { limit } })
  }

  /** Returns false when there was none. */
  unsetLocalLimit(pattern: string): Promise<boolean> {
    return this.#calls.remove(`${limitPath(pattern)}?scope=local`)
  }

  /** Aborts the calls in flight. */
  async close(): Promise<void> {
    this.#calls.end()
  }

  /** A call that is refused as a whole admits none; sending halves finds the faulty job and admits the others. */
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
    const answer = await this.#calls.call('v1/jobs', { method: 'POST', body: { jobs } })
    // A problem holds verdicts as well when all jobs were refused.
    const verdicts = readVerdicts(answer.body, jobs)
    if (verdicts !== undefined) return verdicts
    if (answer.status < 300) throw this.#calls.strange(answer, 'expected a verdict for each job')
    throw this.#calls.problem(answer)
  }
}

/** Whether the size or the content of a job was refused, rather than the whole call. */
function isFaultOfOne(error: unknown): error is ApiProblemError {
  return (
    isVelvetRopeError(error, 'api-refused') && 'status' in error && [413, 422].includes(Number(error.status))
  )
}

function limitPath(pattern: string): string {
  return `v1/limits/${asSegment('pattern', pattern)}`
}

function jobPath(id: string): string {
  return `v1/jobs/${encodeURIComponent(id)}`
}

function textOf(query: Readonly<Record<string, unknown>>): URLSearchParams {
  const text = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) text.set(name, String(value))
  }
  return text
}

function queryOf({ key }: FindOptions): string {
  return key === undefined ? '' : `?key=${encodeURIComponent(key)}`
}

function bucketPath(key: string): string {
  return `v1/buckets/${asSegment('key', key)}`
}

/** Encodes a key as a segment of a path. @throws InvalidKeyError also for `.` and `..`, which a URL drops */
function asSegment(what: string, text: string): string {
  checkKey(text, what)
  return encodeURIComponent(text)
}

/** The most jobs of one call, and their approximate bytes: by default a service accepts 1 MiB. */
export const MOST_JOBS = 200
const MOST_BYTES = 1_000_000

/** Splits requests into calls that a service accepts, in order. A request that alone is too large is a call by itself. */
export function* slicesOf(
  requests: readonly EnqueueRequest<unknown>[],
): Generator<readonly EnqueueRequest<unknown>[]> {
  let slice: EnqueueRequest<unknown>[] = []
  let bytes = 0
  for (const request of requests) {
    const size = Buffer.byteLength(JSON.stringify(request)) + 1
    if (slice.length > 0 && (slice.length === MOST_JOBS || bytes + size > MOST_BYTES)) {
      yield slice
      ;[slice, bytes] = [[], 0]
    }
    slice.push(request)
    bytes += size
  }
  if (slice.length > 0) yield slice
}
