import { JOB_ID, type JobView } from '../../core/job.ts'
import { isWithin } from '../access.ts'
import { enqueueMany } from '../enqueue-many.ts'
import { enqueueOne } from '../enqueue-one.ts'
import { jsonContent, RATE_LIMIT_HEADERS, textHeader } from '../operation.ts'
import { Problem } from '../problem.ts'
import { batchSchemas, newJobSchema } from '../request-schemas.ts'
import type { Call, Route, RouteContext } from '../route.ts'
import { acceptedSchema, verdictsSchema } from '../verdict-schemas.ts'
import { jobSchema } from '../view-schemas.ts'

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header' as const,
  required: false,
  description:
    'Instead of an id, bare or quoted: repeating the request repeats the first answer. It is remembered for as long ' +
    'as the job.',
  schema: { type: 'string' as const, maxLength: 257 },
}

const headers = {
  Location: textHeader('The path of the job.'),
  ...RATE_LIMIT_HEADERS,
  'Idempotent-Replayed': textHeader('`true`: this repeats the first answer.'),
}

const bulkHeaders = {
  'Idempotent-Replayed': textHeader('`true`: all verdicts repeat earlier answers.'),
  'Retry-After': textHeader('Whole seconds until all refused jobs fit.'),
}

export function jobRoutes(api: RouteContext): Route[] {
  const schemas = batchSchemas(api.settings.maxBatch)
  const jobsBody = jsonContent(schemas.wholeSchema)
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
      answer: (call) => enqueueOne(api, call),
    },
    {
      method: 'post',
      path: '/v1/jobs',
      scope: 'enqueue',
      summary: 'Enqueue many jobs; answers a verdict for each, in order',
      request: { body: { required: true, ...jobsBody } },
      parameters: [idempotencyKey],
      answers: {
        200: { description: 'Some were accepted.', headers: bulkHeaders, ...jsonContent(verdictsSchema) },
        202: { description: 'All were accepted.', headers: bulkHeaders, ...jsonContent(verdictsSchema) },
      },
      problems: ['none-accepted', 'none-acceptable', 'no-limit'],
      answer: (call) => enqueueMany(api, call, schemas),
    },
    {
      method: 'get',
      path: '/v1/jobs/{id}',
      scope: 'read',
      summary: 'Get a job: its state, result and times; with the scope admin also its data',
      answers: { 200: { description: 'The job.', ...jsonContent(jobSchema) } },
      problems: ['not-found'],
      answer: async (call) => {
        const { data, ...job } = await jobOf(api, call)
        return call.context.json({ ...job, ...(call.principal.scopes.includes('admin') && { data }) })
      },
    },
    {
      method: 'delete',
      path: '/v1/jobs/{id}',
      scope: 'enqueue',
      summary: 'Cancel a waiting job',
      answers: { 204: { description: 'Cancelled.' } },
      problems: ['not-found', 'departed'],
      answer: async (call) => {
        const { id, state } = await jobOf(api, call)
        if (await api.shaper.cancel(id)) return call.context.body(null, 204)
        throw new Problem('departed', { detail: `expected a waiting job, got: ${state}`, state })
      },
    },
  ]
}

/** Finds a job; one that the token may not see counts as unknown. @throws Problem 404 */
async function jobOf({ shaper }: RouteContext, { principal, subject: id }: Call): Promise<JobView> {
  const job = JOB_ID.test(id) ? await shaper.job(id) : undefined
  if (job !== undefined && isWithin(principal.prefixes, job.key)) return job
  throw new Problem('not-found', {
    detail: 'no job has this id; ended jobs are kept for a while only',
  })
}
