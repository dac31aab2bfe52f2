import { JOB_ID } from '../../core/job.ts'
import { readRequest } from '../body.ts'
import { enqueueMany } from '../enqueue-many.ts'
import { enqueueOne } from '../enqueue-one.ts'
import { findJob } from '../find-job.ts'
import { jsonContent, RATE_LIMIT_HEADERS, textHeader } from '../operation.ts'
import { Problem } from '../problem.ts'
import { batchSchemas, jobQuerySchema, newJobSchema, settleSchema } from '../request-schemas.ts'
import type { Call, Route, RouteContext } from '../route.ts'
import { acceptedSchema, settledSchema, verdictsSchema } from '../verdict-schemas.ts'
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
  Location: textHeader(
    'The path of the job, with its key as `?key=`: ids belong to the first segment of keys.',
  ),
  ...RATE_LIMIT_HEADERS,
  'Idempotent-Replayed': textHeader('`true`: this repeats the first answer.'),
}

const bulkHeaders = {
  'Idempotent-Replayed': textHeader('`true`: all verdicts repeat earlier answers.'),
  'Retry-After': textHeader('Whole seconds until all refused jobs fit.'),
}

export function jobRoutes(api: RouteContext): Route[] {
  const { shaper } = api
  const jobOf = (call: Call) => findJob(call, JOB_ID, (id, place) => shaper.job(id, place))
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
      problems: [
        'queue-full',
        'deadline',
        'paused',
        'memory-share',
        'too-costly',
        'no-limit',
        'idempotency-key-reused',
      ],
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
      request: { query: jobQuerySchema },
      answers: { 200: { description: 'The job.', ...jsonContent(jobSchema) } },
      problems: ['not-found', 'invalid'],
      answer: async (call) => {
        const { data, ...job } = await jobOf(call)
        return call.context.json({ ...job, ...(call.principal.scopes.includes('admin') && { data }) })
      },
    },
    {
      method: 'delete',
      path: '/v1/jobs/{id}',
      scope: 'enqueue',
      summary: 'Cancel a waiting job',
      request: { query: jobQuerySchema },
      answers: { 204: { description: 'Cancelled.' } },
      problems: ['not-found', 'departed', 'invalid'],
      answer: async (call) => {
        const { id, key, state } = await jobOf(call)
        if (await shaper.cancel(id, { key })) return call.context.body(null, 204)
        throw new Problem('departed', { detail: `expected a waiting job, got: ${state}`, state })
      },
    },
    {
      method: 'post',
      path: '/v1/jobs/{id}/settle',
      scope: 'enqueue',
      summary: 'Say what the running attempt of a job really counts in quotas of named units',
      request: { query: jobQuerySchema, body: { required: true, ...jsonContent(settleSchema) } },
      answers: { 200: { description: 'Whether it was settled now.', ...jsonContent(settledSchema) } },
      problems: ['not-found', 'unknown-unit', 'invalid'],
      answer: async (call) => {
        const { costs, ...which } = await readRequest(api, call, settleSchema)
        const { id, key } = await jobOf(call)
        return call.context.json({ settled: await shaper.settle(id, costs, { key, ...which }) })
      },
    },
  ]
}
