import { isVelvetRopeError } from '../core/errors.ts'
import type { Hold } from '../core/hold.ts'
import type { Admission, Rejected } from '../core/job.ts'
import type { TotalPath } from '../core/key.ts'
import { hasParts, parseStoredLimit } from '../core/limit.ts'
import type { RuleView, TotalView } from '../core/rule-view.ts'
import { TRACEPARENT } from '../core/traceparent.ts'
import { ruleOf } from '../line/limits.ts'
import { acceptedResponse, refusal } from './answers.ts'
import { readRequest } from './body.ts'
import { jobId, readIdempotencyKey } from './idempotency.ts'
import { invalid, pointerStep, reducedCapacity } from './problem.ts'
import type { PartsRead } from './ratelimit-quotas.ts'
import { type NewJob, newJobSchema } from './request-schemas.ts'
import type { Call, RouteContext } from './route.ts'

/** `POST /v1/buckets/{key}/jobs`. @throws Problem */
export async function enqueueOne(api: RouteContext, call: Call): Promise<Response> {
  const { context, principal, subject: key } = call
  assertAccepting(api)
  const idempotencyKey = readIdempotencyKey(context.req.header('Idempotency-Key'))
  const job = await readRequest(api, call, newJobSchema)
  assertSendable(api, job, '#')
  const id = jobId(principal, idempotencyKey, job.id)
  const admission = await submit(api, key, job, id, context.req.header('traceparent'))
  const { cost = 1 } = job
  // Read after the verdict, which refreshes the rule book. None: it was removed in between, also for a repeated answer.
  const rule = ruleOf(api.shaper.limits, key)
  const totals = api.shaper.limits.totals(key)
  if (!admission.accepted && admission.at !== undefined) {
    const refusing = ruleRefusing(api, admission)
    const others = [...(rule === undefined ? [] : [rule]), ...totals]
    throw refusal(admission, refusing, cost, {
      others: others.filter(({ pattern }) => pattern !== refusing?.pattern),
    })
  }
  const isWithParts = rule !== undefined && hasParts(parseStoredLimit(rule.limit))
  if (admission.accepted) {
    const [parts, above] = await Promise.all([
      // Below totals the pace of the key alone does not say when its next job departs.
      isWithParts || totals.length > 0 ? readParts(api, key) : undefined,
      Promise.all(totals.map((total) => readTotal(api, total))),
    ])
    return acceptedResponse(context, admission, rule, cost, { parts, totals: above })
  }
  const parts = isWithParts ? await readParts(api, key) : undefined
  const heldBy = isWithParts && admission.reason === 'deadline' ? await readHold(api, key, job) : undefined
  throw refusal(admission, rule, cost, { parts, heldBy, others: totals })
}

/** What a total above the key holds and counts. A key without totals asks for nothing. */
async function readTotal({ shaper }: RouteContext, total: TotalView) {
  // The path of a total ends in a slash.
  const read = await ifReached(async () => (await shaper.inspect(total.path as TotalPath)) ?? null)
  return { total, read }
}

/** What the further parts of a limit count. A limit without them asks for nothing; one that has them asks the store once more. */
function readParts({ shaper }: RouteContext, key: string): Promise<PartsRead | undefined> {
  return ifReached(async () => (await shaper.inspect(key)) ?? {})
}

/** What would let the job go last. The verdict about its deadline does not say; undefined where that has changed since. */
function readHold({ shaper }: RouteContext, key: string, { cost, costs }: NewJob): Promise<Hold | undefined> {
  return ifReached(async () => {
    const forecast = await shaper.forecast(key, { cost, costs })
    return forecast.accepted ? forecast.heldBy : undefined
  })
}

/** The verdict stands, whether the store and the rule are found again or not. */
async function ifReached<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isVelvetRopeError(error, 'backend-unavailable') || isVelvetRopeError(error, 'no-limit'))
      return undefined
    throw error
  }
}

/** Checks a job by the options `maxTimeoutMs` and `dataFault`; `at` is its place in the body. @throws Problem 422 */
export function assertSendable({ settings }: RouteContext, { data, timeoutMs }: NewJob, at: string): void {
  const { maxTimeoutMs = Number.POSITIVE_INFINITY } = settings
  if (timeoutMs !== undefined && timeoutMs > maxTimeoutMs) {
    const detail = `expected timeoutMs to be at most ${maxTimeoutMs}, got: ${timeoutMs}`
    throw invalid([{ detail, pointer: `${at}/timeoutMs` }])
  }
  const fault = settings.dataFault?.(data)
  if (fault === undefined) return
  throw invalid([{ detail: fault.detail, pointer: [at, 'data', ...fault.path.map(pointerStep)].join('/') }])
}

/**
 * Enqueues the job where there is room for it, and answers again for one that is known, which takes no more. An invalid
 * `traceparent` is ignored, as W3C Trace Context requires.
 *
 * @throws Problem 503, or 429 where the first segment of the key has no share of the memory left
 */
export async function submit(
  { shaper, overload }: RouteContext,
  key: string,
  { data, ...options }: NewJob,
  id: string | undefined,
  traceparent: string | undefined,
): Promise<Admission> {
  // Here, and not before the body is read: only that may say the id, and many may begin to send while there is room for each.
  const refusal = overload.shareRefusal(key)
  if (refusal !== undefined) {
    const known = id === undefined ? undefined : await shaper.job(id, { key })
    if (known === undefined) throw refusal
  }
  const trace = traceparent !== undefined && TRACEPARENT.test(traceparent) ? { traceparent } : {}
  return shaper.enqueue(key, data, { ...options, id, ...trace })
}

/** The rule that refused a job: that of its key, or of a total. */
export function ruleRefusing(api: RouteContext, { key, at }: Rejected): RuleView | undefined {
  return at === undefined
    ? ruleOf(api.shaper.limits, key)
    : api.shaper.limits.totals(key).find(({ path }) => path === at)
}

/** @throws Problem 503 */
export function assertAccepting({ settings, overload }: RouteContext): void {
  if (settings.isDraining()) throw reducedCapacity('the service is shutting down and accepts no more jobs', 5)
  overload.assertRoom()
}
