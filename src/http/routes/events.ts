import { z } from '@hono/zod-openapi'
import type { Principal } from '../access.ts'
import { openStream } from '../events/event-stream.ts'
import { readSubscription, streamQuerySchema } from '../events/subscription.ts'
import { reducedCapacity, tokenQuota } from '../problem.ts'
import { Quota } from '../quota.ts'
import type { Route, RouteContext } from '../route.ts'

export function eventRoutes({ feed, settings, authenticator, watched, walks }: RouteContext): Route[] {
  const { maxStreams: most, maxStreamsPerToken: perToken } = settings
  const streams = new Quota({ most, perToken })
  const assertRoom = (principal: Principal) => {
    const exhausted = streams.exhausted(principal)
    if (exhausted === 'all') throw reducedCapacity('too many streams are open', 10)
    if (exhausted === 'token') throw tokenQuota(`expected at most ${perToken} streams of one token at once`)
  }
  return [
    {
      method: 'get',
      path: '/v1/events',
      scope: 'read',
      isStream: true,
      summary:
        'Stream server-sent events: verdict, departure, outcome, and a snapshot once a second; on demand ' +
        'a page of buckets, one bucket with its line, changes of the rules, and totals of all lines',
      request: { query: streamQuerySchema },
      parameters: [
        {
          name: 'Last-Event-ID',
          in: 'header',
          required: false,
          description:
            'The id of the last event that was read. The stream then begins with the events since, up to 1,000 and half a megabyte, fewer for the keys with the most events. ' +
            'Before them comes an event `missed` with the `count` of lost events, and `isAtLeast` where there may be more.',
          schema: { type: 'string' },
        },
      ],
      answers: {
        200: { description: 'A stream.', content: { 'text/event-stream': { schema: z.string() } } },
      },
      problems: ['invalid'],
      answer: async ({ context, principal }) => {
        if (settings.isDraining()) throw reducedCapacity('the service is shutting down', 5)
        const subscription = readSubscription(context.req.url, principal)
        const headers = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' }
        // Nothing would ever read the stream.
        if (context.req.raw.method === 'HEAD') return new Response(null, { headers })
        assertRoom(principal)
        const key = subscription.types.has('bucket') ? subscription.key : undefined
        if (key !== undefined) watched.ask(principal, key)
        const begin = () => feed.initialEvents(subscription)
        const first = await (subscription.types.has('buckets') ? walks.run(principal, begin) : begin())
        // Other streams may have opened meanwhile.
        assertRoom(principal)
        const { outgoing, whenSent } = context.env ?? {}
        // It may find that the token watches as many as it may.
        const unwatch = key === undefined ? undefined : watched.hold(principal, key)
        streams.take(principal)
        const owner = {
          subscription,
          onEnd: () => {
            streams.putBack(principal)
            unwatch?.()
          },
          isAuthorized: () => authenticator.isStillValid(principal),
          first,
          whenGone: whenSent,
          ...(outgoing !== undefined && { cut: () => void outgoing.destroy() }),
        }
        const lastId = context.req.header('Last-Event-ID')
        return new Response(openStream(feed, owner, lastId), { headers })
      },
    },
  ]
}
