import { z } from '@hono/zod-openapi'
import { quote } from '../../core/describe.ts'
import { jsonRefusal } from '../../core/job.ts'
import { checkKey, isTotal } from '../../core/key.ts'
import { bucketQuerySchema } from '../../line/bucket-query.ts'
import { familyQuerySchema } from '../../line/family-query.ts'
import { wholeTimes } from '../answers.ts'
import { readRequest } from '../body.ts'
import { listBuckets, listFamilies } from '../bucket-list.ts'
import { jsonContent } from '../operation.ts'
import { Problem } from '../problem.ts'
import { readQuery } from '../query.ts'
import { forecastQuerySchema, freezeSchema } from '../request-schemas.ts'
import { assertRoomToAct } from '../room.ts'
import type { Route, RouteContext } from '../route.ts'
import { forecastSchema } from '../verdict-schemas.ts'
import { bucketPageSchema, bucketSchema, familyPageSchema, familySchema } from '../view-schemas.ts'

const bucketOrFamily = z.union([bucketSchema, familySchema])

const DONE = { 204: { description: 'Done.' } } as const

export function bucketRoutes(api: RouteContext): Route[] {
  const { shaper, walks } = api
  return [
    {
      method: 'get',
      path: '/v1/buckets',
      scope: 'read',
      summary: 'List live buckets, with filters, sorting and pages',
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
        return context.json(await walks.run(principal, () => listBuckets(shaper, principal, query)))
      },
    },
    {
      method: 'get',
      path: '/v1/families',
      scope: 'read',
      summary: 'List live totals, sorted and in pages',
      request: { query: familyQuerySchema },
      answers: { 200: { description: 'A page.', ...jsonContent(familyPageSchema) } },
      problems: ['invalid'],
      answer: async ({ context, principal }) => {
        const query = readQuery(context.req.url, familyQuerySchema, ['limit'])
        return context.json(await walks.run(principal, () => listFamilies(shaper, principal, query)))
      },
    },
    {
      method: 'get',
      path: '/v1/buckets/{key}',
      scope: 'read',
      summary: 'Get a live bucket; with a key that ends in a slash, the live total of that family',
      answers: { 200: { description: 'The bucket, or the total.', ...jsonContent(bucketOrFamily) } },
      problems: ['not-found'],
      answer: async ({ context, subject: key }) => {
        const bucket = await shaper.inspect(key)
        if (bucket !== undefined) return context.json(bucket)
        const why = isTotal(key)
          ? `the total ${quote(key)} is not live: no rule limits the sum of that family, or nothing lives below it`
          : `the bucket ${quote(key)} is not live: it is empty, and a job could start at once`
        throw new Problem('not-found', { detail: why })
      },
    },
    {
      method: 'get',
      path: '/v1/buckets/{key}/forecast',
      scope: 'read',
      summary: 'Forecast the verdict that an enqueue would get now',
      request: { query: forecastQuerySchema },
      answers: { 200: { description: 'The verdict.', ...jsonContent(forecastSchema) } },
      problems: ['no-limit'],
      answer: async ({ context, subject: key }) => {
        const asked = readQuery(context.req.url, forecastQuerySchema, ['cost'])
        const forecast = await shaper.forecast(key, asked)
        if (!forecast.accepted) return context.json(jsonRefusal(forecast))
        // No job was admitted, so there is no id.
        const { id, ...accepted } = forecast
        return context.json({ ...accepted, ...wholeTimes(accepted) })
      },
    },
    {
      method: 'post',
      path: '/v1/buckets/{key}/freeze',
      scope: 'admin',
      summary: 'Stop departures for a while; a shorter freeze never shortens a longer one',
      request: { body: { required: true, ...jsonContent(freezeSchema) } },
      answers: DONE,
      problems: ['no-limit', 'memory-share'],
      answer: async (call) => {
        const { context, subject: key } = call
        await assertRoomToAct(api, call)
        const { forMs } = await readRequest(api, call, freezeSchema)
        await shaper.freeze(key, forMs)
        return context.body(null, 204)
      },
    },
    {
      method: 'delete',
      path: '/v1/buckets/{key}/freeze',
      scope: 'admin',
      summary: 'End a freeze early; departures continue at the rate',
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
        summary: verb === 'pause' ? 'Stop departures until resumed' : 'Continue departures at the rate',
        answers: DONE,
        problems: verb === 'pause' ? ['no-limit', 'memory-share'] : ['no-limit'],
        answer: async (call) => {
          const { context, subject: key } = call
          checkKey(key)
          // A pause makes a bucket, which stays until it is resumed.
          if (verb === 'pause') await assertRoomToAct(api, call)
          await shaper[verb](key)
          return context.body(null, 204)
        },
      }),
    ),
  ]
}
