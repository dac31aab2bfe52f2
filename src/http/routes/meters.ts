import { isVelvetRopeError } from '../../core/errors.ts'
import type { Meter } from '../../meter/meter.ts'
import { refusedFill } from '../answers.ts'
import { readRequest } from '../body.ts'
import { dressedJson } from '../guards.ts'
import { jsonContent, RATE_LIMIT_HEADERS } from '../operation.ts'
import { Problem, reducedCapacity } from '../problem.ts'
import { readQuery } from '../query.ts'
import { quotaOfMeter, rateLimitHeaders } from '../ratelimit-headers.ts'
import { fillSchema, meterQuerySchema } from '../request-schemas.ts'
import type { House, Route } from '../route.ts'
import { meterSchema } from '../verdict-schemas.ts'

/** The other form of the bucket: it counts and refuses, and queues nothing. */
export function meterRoutes(house: House): Route[] {
  const { overload } = house
  return [
    {
      method: 'post',
      path: '/v1/meters/{key}/fill',
      scope: 'enqueue',
      summary: 'Fill a bucket that queues nothing: all of the amount goes in, or none of it',
      request: { body: { required: false, ...jsonContent(fillSchema) } },
      answers: {
        200: { description: 'It went in.', headers: RATE_LIMIT_HEADERS, ...jsonContent(meterSchema) },
      },
      problems: ['over-limit', 'never-fits', 'no-limit', 'not-found'],
      answer: async ({ context, subject: key }) => {
        const meter = meterOf(house)
        overload.assertRoom()
        const body = { whenAbsent: '{}' }
        const { amount } = await readRequest(house, { context }, fillSchema, body)
        const reading = await reach(() => meter.fill(key, amount))
        if (!reading.accepted) throw refusedFill(key, reading, amount)
        const { retryAfterMs: _, ...level } = reading
        return dressedJson(context, 200, { key, ...level }, rateLimitHeaders(quotaOfMeter(reading)))
      },
    },
    {
      method: 'get',
      path: '/v1/meters/{key}',
      scope: 'read',
      summary: 'What is in a bucket now; with an amount, whether that would go in',
      request: { query: meterQuerySchema },
      answers: { 200: { description: 'The bucket.', ...jsonContent(meterSchema) } },
      problems: ['no-limit', 'not-found'],
      answer: async ({ context, subject: key }) => {
        const meter = meterOf(house)
        const { amount } = readQuery(context.req.url, meterQuerySchema, ['amount'])
        const level = await reach(() => (amount === undefined ? meter.level(key) : meter.level(key, amount)))
        return context.json({ key, ...level })
      },
    },
    {
      method: 'delete',
      path: '/v1/meters/{key}',
      scope: 'admin',
      summary: 'Empty a bucket, and lift a block',
      answers: { 204: { description: 'It is empty.' } },
      problems: ['not-found'],
      answer: async ({ context, subject: key }) => {
        const meter = meterOf(house)
        await reach(() => meter.drain(key))
        return context.body(null, 204)
      },
    },
  ]
}

/** @throws Problem 404 */
function meterOf({ settings: { meter } }: House): Meter {
  if (meter !== undefined) return meter
  throw new Problem('not-found', { detail: 'this service has no meter' })
}

/** @throws Problem 503 */
async function reach<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
    throw reducedCapacity('the levels cannot be reached; what was sent may have gone in')
  }
}
