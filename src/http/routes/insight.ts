import { quote } from '../../core/describe.ts'
import type { JobExplanation } from '../../core/explanation-view.ts'
import { JOB_OR_TURN_ID } from '../../core/job.ts'
import { peekOptionsSchema } from '../../shaper/options.ts'
import { isWithin } from '../access.ts'
import { jsonContent } from '../operation.ts'
import { Problem } from '../problem.ts'
import { readQuery } from '../query.ts'
import type { Call, House, Route } from '../route.ts'
import { explanationSchema, lineSchema, recentSchema } from '../view-schemas.ts'

/** Why a job is not running, who stands in a line, and what happened lately. */
export function insightRoutes(house: House): Route[] {
  const { shaper } = house
  return [
    {
      method: 'get',
      path: '/v1/jobs/{id}/explanation',
      scope: 'read',
      summary: 'Why a job is not running: what holds it, who is before it, when it departs',
      answers: { 200: { description: 'The explanation.', ...jsonContent(explanationSchema) } },
      problems: ['not-found'],
      answer: async (call) => call.context.json(await explanationOf(house, call)),
    },
    {
      method: 'get',
      path: '/v1/buckets/{key}/line',
      scope: 'read',
      summary: 'The first of those who wait in a live bucket, in the order of departure',
      request: { query: peekOptionsSchema },
      answers: { 200: { description: 'The line.', ...jsonContent(lineSchema) } },
      problems: ['not-found'],
      answer: async ({ context, subject: key }) => {
        const line = await shaper.line(key, readQuery(context.req.url, peekOptionsSchema, ['limit']))
        if (line !== undefined) return context.json(line)
        throw new Problem('not-found', {
          detail: `the bucket ${quote(key)} holds nothing and could depart at once`,
        })
      },
    },
    {
      method: 'get',
      path: '/v1/buckets/{key}/recent',
      scope: 'read',
      summary:
        'The last verdicts and departures of a bucket; gathered while somebody asks, and for 30 s after',
      answers: { 200: { description: 'What happened, the newest first.', ...jsonContent(recentSchema) } },
      problems: [],
      answer: async ({ context, subject: key }) => context.json(await shaper.recent(key)),
    },
  ]
}

/** A job that the token may not see is unknown to it. @throws Problem 404 */
async function explanationOf({ shaper }: House, { principal, subject: id }: Call): Promise<JobExplanation> {
  const explanation = JOB_OR_TURN_ID.test(id) ? await shaper.explain(id) : undefined
  if (explanation !== undefined && isWithin(principal.prefixes, explanation.key)) return explanation
  throw new Problem('not-found', {
    detail: 'no job of this id is known; jobs that ended are kept for a while',
  })
}
