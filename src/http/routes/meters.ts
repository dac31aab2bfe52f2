import { isVelvetRopeError } from '../../core/errors.ts'
import { refusedFill } from '../answers.ts'
import { readRequest } from '../body.ts'
import { jsonResponse } from '../middleware.ts'
import { jsonContent, RATE_LIMIT_HEADERS } from '../operation.ts'
import { Problem, reducedCapacity } from '../problem.ts'
import { readQuery } from '../query.ts'
import { rateLimitHeaders } from '../ratelimit-headers.ts'
import { quotaOfMeter } from '../ratelimit-quotas.ts'
import { fillSchema, meterQuerySchema } from '../request-schemas.ts'
import type { Route, RouteContext } from '../route.ts'
import type { MeterPort } from '../settings.ts'
import { meterSchema } from '../verdict-schemas.ts'

/** Routes of the leaky bucket as a meter, which counts and refuses but queues nothing. */
export function meterRoutes(api: RouteContext): Route[] {
  const { overload } = api
  return [
    {
      method: 'post',
      path: '/v1/meters/{key}/fill',
      scope: 'enqueue',
      summary: 'Add an amount to a meter: all of it or nothing',
      request: { body: { required: false, ...jsonContent(fillSchema) } },
      answers: {
        200: {
          description: 'The amount was added.',
          headers: RATE_LIMIT_HEADERS,
          ...jsonContent(meterSchema),
        },
      },
      problems: ['over-limit', 'memory-share', 'never-fits', 'unknown-unit', 'no-limit', 'not-found'],
      answer: async (call) => {
        const { context, subject: key } = call
        const meter = meterOf(api)
        overload.assertRoom(key)
        const { amount, costs } = await readRequest(api, call, fillSchema, { whenAbsent: '{}' })
        const reading = await reach(() => meter.fill(key, amount, costs))
        if (!reading.accepted) throw refusedFill(key, reading, amount)
        const { retryAfterMs: _, ...level } = reading
        return jsonResponse(context, 200, { key, ...level }, rateLimitHeaders(quotaOfMeter(reading)))
      },
    },
    {
      method: 'get',
      path: '/v1/meters/{key}',
      scope: 'read',
      summary: 'Get the level of a meter; with an amount or costs, also whether they would fit',
      request: { query: meterQuerySchema },
      answers: { 200: { description: 'The meter.', ...jsonContent(meterSchema) } },
      problems: ['unknown-unit', 'no-limit', 'not-found'],
      answer: async ({ context, subject: key }) => {
        const meter = meterOf(api)
        const { amount, costs } = readQuery(context.req.url, meterQuerySchema, ['amount'])
        const isAsked = amount !== undefined || costs !== undefined
        const level = await reach(() => (isAsked ? meter.level(key, amount ?? 1, costs) : meter.level(key)))
        return context.json({ key, ...level })
      },
    },
    {
      method: 'delete',
      path: '/v1/meters/{key}',
      scope: 'admin',
      summary: 'Empty a meter and end its block',
      answers: { 204: { description: 'The meter is empty.' } },
      problems: ['not-found'],
      answer: async ({ context, subject: key }) => {
        const meter = meterOf(api)
        await reach(() => meter.drain(key))
        return context.body(null, 204)
      },
    },
  ]
}

/** @throws Problem 404 */
function meterOf({ settings: { meter } }: RouteContext): MeterPort {
  if (meter !== undefined) return meter
  throw new Problem('not-found', { detail: 'this service has no meter' })
}

/** @throws Problem 503 */
async function reach<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
    throw reducedCapacity('the store is unavailable; the amount may have been added')
  }
}
