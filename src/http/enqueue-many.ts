import type { z } from 'zod'
import { quote } from '../core/describe.ts'
import type { Principal } from './access.ts'
import { acceptedBody, refusal } from './answers.ts'
import { readRequest } from './body.ts'
import { check, MOST_FAULTS } from './body-faults.ts'
import { assertAccepting, assertSendable, ruleRefusing, submit } from './enqueue-one.ts'
import { jobId, readIdempotencyKey } from './idempotency.ts'
import { type Fault, invalid, PROBLEMS, Problem, problemOf, reducedCapacity } from './problem.ts'
import { retryAfterSeconds } from './ratelimit-headers.ts'
import type { batchSchemas } from './request-schemas.ts'
import { isWithin } from './rights.ts'
import type { Call, RouteContext } from './route.ts'

/** Jobs that are started in one tick, and go to the store in one batch; all at once would hold the event loop. */
const JOBS_OF_TURN = 100

type BatchSchemas = ReturnType<typeof batchSchemas>
type NewJobOfBatch = z.output<BatchSchemas['jobSchema']>

interface Verdict {
  readonly status: number
  readonly retryAfterMs?: number
}

/**
 * `POST /v1/jobs`: answers a verdict for each job, in order. A batch with an invalid job admits none. Otherwise each job
 * is judged separately, so that one that does not fit, or whose id is taken, does not block the others.
 *
 * @throws Problem
 */
export async function enqueueMany(
  api: RouteContext,
  call: Call,
  { listSchema, jobSchema }: BatchSchemas,
): Promise<Response> {
  const { context, principal } = call
  assertAccepting(api)
  const { settings } = api
  const idempotencyKey = readIdempotencyKey(context.req.header('Idempotency-Key'))
  const { jobs: given } = await readRequest(api, call, listSchema, { most: settings.batchLimitBytes })
  call.count(given.length)
  const jobs: NewJobOfBatch[] = []
  const faults: Fault[] = []
  await inTurns(api, call, given, (job, index) => {
    // A list of all faults of a thousand jobs would take long.
    if (faults.length >= MOST_FAULTS) return
    const { data, faults: ofJob = [] } = check(job, jobSchema, ['jobs', index])
    if (data !== undefined) jobs.push(data)
    faults.push(...ofJob)
  })
  if (faults.length > 0) throw invalid(faults.slice(0, MOST_FAULTS))
  api.overload.assertRoom()
  assertAllWithin(principal, jobs)
  const ids = jobs.map(({ id }, index) => jobId(principal, idempotencyKey, id, index))
  const traceparent = context.req.header('traceparent')
  const verdictFor = async ({ key, ...job }: NewJobOfBatch, index: number): Promise<Verdict> => {
    const { cost = 1 } = job
    try {
      assertSendable(api, job, `#/jobs/${index}`)
      const admission = await submit(api, key, job, ids[index], traceparent)
      if (!admission.accepted)
        return refusedVerdict(key, refusal(admission, ruleRefusing(api, admission), cost))
      return {
        status: 202,
        ...acceptedBody(admission),
        ...(admission.replayed && { replayed: true as const }),
      }
    } catch (error) {
      const problem = problemOf(error)
      if (problem === undefined) settings.onError?.(error, context.get('requestId'))
      return refusedVerdict(key, problem ?? new Problem('internal'))
    }
  }
  const verdicts: Promise<Verdict>[] = []
  await inTurns(api, call, jobs, (job, index) => {
    verdicts.push(verdictFor(job, index))
  })
  return answerOf(await Promise.all(verdicts))
}

/** Calls `visit` for each element, and lets other requests be answered between every hundred. */
async function inTurns<Element>(
  { turns }: RouteContext,
  { principal }: Call,
  elements: readonly Element[],
  visit: (element: Element, index: number) => void,
): Promise<void> {
  for (const [index, element] of elements.entries()) {
    if (index > 0 && index % JOBS_OF_TURN === 0) await turns.next(principal.name)
    visit(element, index)
  }
}

/** 202 when all were accepted, 200 when some were, else the problem that says what to do. */
function answerOf(verdicts: readonly Verdict[]): Response {
  const accepted = verdicts.filter(({ status }) => status === 202).length
  const body = { accepted, rejected: verdicts.length - accepted, verdicts }
  const latestMs = Math.max(0, ...verdicts.map(({ retryAfterMs = 0 }) => retryAfterMs))
  const has = (wanted: number) => verdicts.some(({ status }) => status === wanted)
  const retryMs = has(503) ? Math.max(1_000, latestMs) : latestMs
  const headers: Record<string, string> =
    retryMs > 0 ? { 'Retry-After': String(retryAfterSeconds(retryMs)) } : {}
  if (accepted > 0) {
    const isReplayed = verdicts.every((verdict) => 'replayed' in verdict)
    return Response.json(body, {
      status: accepted === verdicts.length ? 202 : 200,
      headers: { ...headers, ...(isReplayed && { 'Idempotent-Replayed': 'true' }) },
    })
  }
  if (has(429)) throw new Problem('none-accepted', { ...body, retryAfterMs: latestMs }, headers)
  // Failures of the service name no key.
  if (has(503)) throw reducedCapacity('the store is unavailable or out of memory; retry with the same ids')
  if (has(500)) throw new Problem('internal')
  throw new Problem('none-acceptable', body)
}

function refusedVerdict(key: string, { problem, details }: Problem): Verdict {
  const { status, title } = PROBLEMS[problem]
  return { status, type: `urn:velvet-rope:problem:${problem}`, title, ...details, key } as Verdict
}

function assertAllWithin({ prefixes }: Principal, jobs: readonly NewJobOfBatch[]): void {
  const errors = jobs.flatMap(({ key }, index): Fault[] =>
    isWithin(prefixes, key)
      ? []
      : [{ detail: `the token does not cover the key ${quote(key)}`, pointer: `#/jobs/${index}/key` }],
  )
  if (errors.length === 0) return
  throw new Problem('forbidden', { detail: errors[0]!.detail, errors: errors.slice(0, MOST_FAULTS) })
}
