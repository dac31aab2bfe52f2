import { quote } from '../../core/describe.ts'
import { jsonRefusal } from '../../core/job.ts'
import { checkKey } from '../../core/key.ts'
import { bucketQuerySchema } from '../../line/bucket-query.ts'
import { readRequest } from '../body.ts'
import { listBuckets } from '../bucket-list.ts'
import { jsonContent } from '../operation.ts'
import { Problem } from '../problem.ts'
import { readQuery } from '../query.ts'
import { forecastQuerySchema, freezeSchema } from '../request-schemas.ts'
import type { House, Route } from '../route.ts'
import { forecastSchema } from '../verdict-schemas.ts'
import { bucketPageSchema, bucketSchema } from '../view-schemas.ts'

const DONE = { 204: { description: 'Done.' } } as const

export function bucketRoutes(house: House): Route[] {
  const { shaper } = house
  return [
    {
      method: 'get',
      path: '/v1/buckets',
      scope: 'read',
      summary: 'Live buckets, filtered, sorted and page by page',
      request: { query: bucketQuerySchema },
      answers: { 200: { description: 'A page.', ...jsonContent(bucketPageSchema) } },
      problems: ['invalid'],
      answer: async ({ context, principal }) => {
        const query = readQuery(context.req.url, bucketQuerySchema, [
          'minFill',
          'maxFill',
          'minOldestWaitMs',
          'limit',
        ])
        return context.json(await listBuckets(shaper, principal, query))
      },
    },
    {
      method: 'get',
      path: '/v1/buckets/{key}',
      scope: 'read',
      summary: 'A live bucket',
      answers: { 200: { description: 'The bucket.', ...jsonContent(bucketSchema) } },
      problems: ['not-found'],
      answer: async ({ context, subject: key }) => {
        const bucket = await shaper.inspect(key)
        if (bucket !== undefined) return context.json(bucket)
        throw new Problem('not-found', {
          detail: `the bucket ${quote(key)} holds nothing and could depart at once`,
        })
      },
    },
    {
      method: 'get',
      path: '/v1/buckets/{key}/forecast',
      scope: 'read',
      summary: 'The verdict that an enqueue would get now',
      request: { query: forecastQuerySchema },
      answers: { 200: { description: 'The verdict.', ...jsonContent(forecastSchema) } },
      problems: ['no-limit'],
      answer: async ({ context, subject: key }) => {
        const { cost } = readQuery(context.req.url, forecastQuerySchema, ['cost'])
        const forecast = await shaper.forecast(key, cost)
        if (!forecast.accepted) return context.json(jsonRefusal(forecast))
        // Nothing was admitted that could have an id.
        const { id, ...accepted } = forecast
        return context.json(accepted)
      },
    },
    {
      method: 'post',
      path: '/v1/buckets/{key}/freeze',
      scope: 'admin',
      summary: 'No departures for a while; a shorter freeze never shortens a longer one',
      request: { body: { required: true, ...jsonContent(freezeSchema) } },
      answers: DONE,
      problems: ['no-limit'],
      answer: async ({ context, subject: key }) => {
        const { forMs } = await readRequest(house, { context }, freezeSchema)
        await shaper.freeze(key, forMs)
        return context.body(null, 204)
      },
    },
    {
      method: 'delete',
      path: '/v1/buckets/{key}/freeze',
      scope: 'admin',
      summary: 'Lift a freeze before its end; departures go on at the rate',
      answers: DONE,
      problems: ['not-found'],
      answer: async ({ context, subject: key }) => {
        if (await shaper.unfreeze(key)) return context.body(null, 204)
        throw new Problem('not-found', { detail: `the bucket ${quote(key)} is not frozen` })
      },
    },
    ...(['pause', 'resume'] as const).map(
      (verb): Route => ({
        method: 'post',
        path: `/v1/buckets/{key}/${verb}`,
        scope: 'admin',
        summary: verb === 'pause' ? 'No departures until resumed' : 'Departures go on at the rate',
        answers: DONE,
        problems: ['no-limit'],
        answer: async ({ context, subject: key }) => {
          checkKey(key)
          await shaper[verb](key)
          return context.body(null, 204)
        },
      }),
    ),
  ]
}
