import { quote } from '../../core/describe.ts'
import { JOB_OR_TURN_ID } from '../../core/job.ts'
import { peekOptionsSchema } from '../../shaper/options.ts'
import { findJob } from '../find-job.ts'
import { jsonContent } from '../operation.ts'
import { Problem } from '../problem.ts'
import { readQuery } from '../query.ts'
import { jobQuerySchema } from '../request-schemas.ts'
import type { Route, RouteContext } from '../route.ts'
import { explanationSchema, lineSchema, recentSchema } from '../view-schemas.ts'

/** Routes that explain: why a job is not running, which jobs are in a line, and what happened lately. */
export function insightRoutes(api: RouteContext): Route[] {
  const { shaper } = api
  return [
    {
      method: 'get',
      path: '/v1/jobs/{id}/explanation',
      scope: 'read',
      summary: 'Explain why a job is not running: what holds it, which jobs are ahead of it, when it departs',
      request: { query: jobQuerySchema },
      answers: { 200: { description: 'The explanation.', ...jsonContent(explanationSchema) } },
      problems: ['not-found', 'invalid'],
      answer: async (call) => {
        const found = await findJob(call, JOB_OR_TURN_ID, (id, place) => shaper.explain(id, place))
        return call.context.json(found)
      },
    },
    {
      method: 'get',
      path: '/v1/buckets/{key}/line',
      scope: 'read',
      summary: 'List the first waiting jobs of a live bucket, in the order of departure',
      request: { query: peekOptionsSchema },
      answers: { 200: { description: 'The line.', ...jsonContent(lineSchema) } },
      problems: ['not-found'],
      answer: async ({ context, subject: key }) => {
        const line = await shaper.line(key, readQuery(context.req.url, peekOptionsSchema, ['limit']))
        if (line !== undefined) return context.json(line)
        throw new Problem('not-found', {
          detail: `the bucket ${quote(key)} is not live: it is empty, and a job could start at once`,
        })
      },
    },
    {
      method: 'get',
      path: '/v1/buckets/{key}/recent',
      scope: 'read',
      summary:
        'List the last verdicts and departures of a bucket; recorded from the first request until 30 s after the last',
      answers: { 200: { description: 'The events, newest first.', ...jsonContent(recentSchema) } },
      problems: [],
      answer: async ({ context, principal, subject: key }) => {
        api.watched.ask(principal, key)
        return context.json(await shaper.recent(key))
      },
    },
  ]
}
