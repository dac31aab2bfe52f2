import { JOB_ID, type JobView } from '../../core/job.ts'
import { isWithin } from '../access.ts'
import { enqueueMany } from '../enqueue-many.ts'
import { enqueueOne } from '../enqueue-one.ts'
import { jsonContent, RATE_LIMIT_HEADERS, textHeader } from '../operation.ts'
import { Problem } from '../problem.ts'
import { newJobSchema, newJobsSchema } from '../request-schemas.ts'
import type { Call, House, Route } from '../route.ts'
import { acceptedSchema, verdictsSchema } from '../verdict-schemas.ts'
import { jobSchema } from '../view-schemas.ts'

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header' as const,
  required: false,
  description:
    'Instead of an id, bare or quoted: the same request again gets the first answer again. It is known for as long ' +
    'as the job is.',
  schema: { type: 'string' as const, maxLength: 257 },
}

const headers = {
  Location: textHeader('Where the job is.'),
  ...RATE_LIMIT_HEADERS,
  'Idempotent-Replayed': textHeader('`true`: the first answer again.'),
}

const bulkHeaders = {
  'Idempotent-Replayed': textHeader('`true`: each of them was answered before.'),
  'Retry-After': textHeader('Whole seconds, of the latest of those that may come back.'),
}

export function jobRoutes(house: House): Route[] {
  const jobsBody = jsonContent(newJobsSchema(house.settings.maxBatch))
  return [
    {
      method: 'post',
      path: '/v1/buckets/{key}/jobs',
      scope: 'enqueue',
      summary: 'Enqueue a job',
      request: { body: { required: true, ...jsonContent(newJobSchema) } },
      parameters: [idempotencyKey],
      answers: { 202: { description: 'Accepted.', headers, ...jsonContent(acceptedSchema) } },
      problems: ['queue-full', 'deadline', 'paused', 'too-costly', 'no-limit', 'idempotency-key-reused'],
      answer: (call) => enqueueOne(house, call),
    },
    {
      method: 'post',
      path: '/v1/jobs',
      scope: 'enqueue',
      summary: 'Enqueue many jobs; a verdict each, in order',
      request: { body: { required: true, ...jobsBody } },
      parameters: [idempotencyKey],
      answers: {
        200: { description: 'Some were accepted.', headers: bulkHeaders, ...jsonContent(verdictsSchema) },
        202: { description: 'All were accepted.', headers: bulkHeaders, ...jsonContent(verdictsSchema) },
      },
      problems: ['none-accepted', 'none-acceptable', 'no-limit'],
      answer: (call) => enqueueMany(house, call),
    },
    {
      method: 'get',
      path: '/v1/jobs/{id}',
      scope: 'read',
      summary: 'A job: its state, result and times; and its data, for the scope admin',
      answers: { 200: { description: 'The job.', ...jsonContent(jobSchema) } },
      problems: ['not-found'],
      answer: async (call) => {
        const { data, ...job } = await jobOf(house, call)
        return call.context.json({ ...job, ...(call.principal.scopes.includes('admin') && { data }) })
      },
    },
    {
      method: 'delete',
      path: '/v1/jobs/{id}',
      scope: 'enqueue',
      summary: 'Cancel a job while it waits',
      answers: { 204: { description: 'Cancelled.' } },
      problems: ['not-found', 'departed'],
      answer: async (call) => {
        const { id, state } = await jobOf(house, call)
        if (await house.shaper.cancel(id)) return call.context.body(null, 204)
        throw new Problem('departed', { detail: `expected the job to wait, got: ${state}`, state })
      },
    },
  ]
}

/** A job that the token may not see is unknown to it. @throws Problem 404 */
async function jobOf({ shaper }: House, { principal, subject: id }: Call): Promise<JobView> {
  const job = JOB_ID.test(id) ? await shaper.job(id) : undefined
  if (job !== undefined && isWithin(principal.prefixes, job.key)) return job
  throw new Problem('not-found', {
    detail: 'no job of this id is known; jobs that ended are kept for a while',
  })
}
