import { isVelvetRopeError } from '../core/errors.ts'
import type { Admission } from '../core/job.ts'
import type { RuleView } from '../core/rule-view.ts'
import { TRACEPARENT } from '../core/traceparent.ts'
import { acceptedResponse, refusal } from './answers.ts'
import { readRequest } from './body.ts'
import { jobId, readIdempotencyKey } from './idempotency.ts'
import { invalid, pointerStep, reducedCapacity } from './problem.ts'
import { type NewJob, newJobSchema } from './request-schemas.ts'
import type { Call, House } from './route.ts'

/** `POST /v1/buckets/{key}/jobs`. @throws Problem */
export async function enqueueOne(house: House, call: Call): Promise<Response> {
  const { context, principal, subject: key } = call
  assertOpen(house)
  const idempotencyKey = readIdempotencyKey(context.req.header('Idempotency-Key'))
  const job = await readRequest(house, call, newJobSchema)
  assertSendable(house, job.data, '#/data')
  const id = jobId(principal, idempotencyKey, job.id)
  const admission = await submit(house, key, job, id, context.req.header('traceparent'))
  const { cost = 1 } = job
  if (!admission.accepted) throw refusal(admission, ruleOf(house, key), cost)
  return acceptedResponse(context, admission, ruleOf(house, key), cost)
}

/** @throws Problem 422 for data that no handler can do anything with; `at` is where the data are in the body */
export function assertSendable({ settings }: House, data: unknown, at: string): void {
  const fault = settings.dataFault?.(data)
  if (fault === undefined) return
  throw invalid([{ detail: fault.detail, pointer: [at, ...fault.path.map(pointerStep)].join('/') }])
}

/** A trace that cannot be read is left out, as W3C asks. */
export function submit(
  { shaper }: House,
  key: string,
  { data, ...options }: NewJob,
  id: string | undefined,
  traceparent: string | undefined,
): Promise<Admission> {
  const trace = traceparent !== undefined && TRACEPARENT.test(traceparent) ? { traceparent } : {}
  return shaper.enqueue(key, data, { ...options, id, ...trace })
}

/**
 * The rule that a verdict came by. Asked for after the verdict, which brings the newest book along; and undefined when
 * the rule was removed in between, or of an answer that is given again.
 */
export function ruleOf({ shaper }: House, key: string): RuleView | undefined {
  try {
    return shaper.limits.resolve(key)
  } catch (error) {
    if (isVelvetRopeError(error, 'no-limit')) return undefined
    throw error
  }
}

/** @throws Problem 503 */
export function assertOpen({ settings, overload }: House): void {
  if (settings.isDraining()) throw reducedCapacity('the service is going down and accepts nothing more', 5)
  overload.assertRoom()
}
