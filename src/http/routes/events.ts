import { z } from '@hono/zod-openapi'
import { openStream } from '../events/event-stream.ts'
import { readStreamQuery, streamQuerySchema } from '../events/stream-query.ts'
import { reducedCapacity } from '../problem.ts'
import type { House, Route } from '../route.ts'

export function eventRoutes({ feed, settings, doorkeeper }: House): Route[] {
  const assertRoom = () => {
    if (feed.listeners >= settings.maxStreams) throw reducedCapacity('too many streams are open', 10)
  }
  return [
    {
      method: 'get',
      path: '/v1/events',
      scope: 'read',
      summary:
        'What happens, as server-sent events: verdict, departure, outcome, a snapshot once a second; on demand ' +
        'a page of buckets, one bucket with its line, that the rules changed, and totals of all lines',
      request: { query: streamQuerySchema },
      parameters: [
        {
          name: 'Last-Event-ID',
          in: 'header',
          required: false,
          description:
            'The last event that was read. Those since then come first, up to 1,000 and half a megabyte, fewer of the keys with most; before them an event `missed` with the ' +
            '`count` of those that are not kept any more, and `isAtLeast` where there may have been more.',
          schema: { type: 'string' },
        },
      ],
      answers: {
        200: { description: 'A stream.', content: { 'text/event-stream': { schema: z.string() } } },
      },
      problems: ['invalid'],
      answer: async ({ context, principal }) => {
        if (settings.isDraining()) throw reducedCapacity('the service is going down', 5)
        const asked = readStreamQuery(context.req.url, principal)
        const headers = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' }
        // Nobody would ever read the stream.
        if (context.req.raw.method === 'HEAD') return new Response(null, { headers })
        assertRoom()
        const first = await feed.firstViews(asked)
        // Others may have come meanwhile.
        assertRoom()
        const { outgoing } = context.env ?? {}
        const owner = {
          asked,
          isWelcome: () => doorkeeper.stillKnows(principal),
          first,
          ...(outgoing !== undefined && { cut: () => void outgoing.destroy() }),
        }
        const lastId = context.req.header('Last-Event-ID')
        return new Response(openStream(feed, owner, lastId), { headers })
      },
    },
  ]
}
