import { quote } from '../core/describe.ts'
import { isWithin, type Principal } from './access.ts'
import { acceptedBody, refusal } from './answers.ts'
import { readRequest } from './body.ts'
import { assertOpen, assertSendable, ruleOf, submit } from './enqueue-one.ts'
import { jobId, readIdempotencyKey } from './idempotency.ts'
import { type Fault, PROBLEMS, Problem, problemOf, reducedCapacity } from './problem.ts'
import { retryAfterSeconds } from './ratelimit-headers.ts'
import { type NewJob, newJobsSchema } from './request-schemas.ts'
import type { Call, House } from './route.ts'

type NewJobOfBatch = NewJob & { readonly key: string }

interface Verdict {
  readonly status: number
  readonly retryAfterMs?: number
}

/**
 * `POST /v1/jobs`: a verdict each, in order. A batch with an invalid job admits none; beyond that each job is judged
 * by itself, so that one that does not fit, or whose id is taken, does not keep out the others.
 *
 * @throws Problem
 */
export async function enqueueMany(house: House, call: Call): Promise<Response> {
  const { context, principal } = call
  assertOpen(house)
  const { settings } = house
  const idempotencyKey = readIdempotencyKey(context.req.header('Idempotency-Key'))
  const { jobs } = await readRequest(house, call, newJobsSchema(settings.maxBatch), {
    most: settings.batchLimitBytes,
  })
  assertAllWithin(principal, jobs)
  const ids = jobs.map(({ id }, index) => jobId(principal, idempotencyKey, id, index))
  const traceparent = context.req.header('traceparent')
  // Asked for in one tick, they travel to the store together.
  const verdicts = await Promise.all(
    jobs.map(async ({ key, ...job }, index) => {
      const { cost = 1 } = job
      try {
        assertSendable(house, job.data, `#/jobs/${index}/data`)
        const admission = await submit(house, key, job, ids[index], traceparent)
        if (!admission.accepted) return refusedVerdict(key, refusal(admission, ruleOf(house, key), cost))
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
    }),
  )
  return answerOf(verdicts)
}

/** 202 when all were accepted, 200 when some were; when none was, the problem that tells what to do about it. */
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
  // What is our fault names no key.
  if (has(503)) throw reducedCapacity('the line cannot be reached; try again with the same ids')
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
      : [{ detail: `the token does not reach the key ${quote(key)}`, pointer: `#/jobs/${index}/key` }],
  )
  if (errors.length === 0) return
  throw new Problem('forbidden', { detail: errors[0]!.detail, errors: errors.slice(0, 20) })
}
