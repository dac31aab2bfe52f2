import { OpenAPIHono } from '@hono/zod-openapi'
import { cors } from 'hono/cors'
import type { HeapReport } from '../core/heap-use.ts'
import { parseOptions } from '../core/options.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { Authenticator } from './access.ts'
import { Dispatch } from './dispatch.ts'
import { EventFeed } from './events/event-feed.ts'
import { LoopTurns } from './loop-turns.ts'
import { checkServer, frame, refuseCrossSite } from './middleware.ts'
import { operationOf } from './operation.ts'
import { OverloadGuard } from './overload.ts'
import { rawPath, splitPattern } from './path.ts'
import { Problem, problemOf, problemResponse } from './problem.ts'
import type { HttpEnv, Route, RouteContext } from './route.ts'
import { bucketRoutes } from './routes/buckets.ts'
import { eventRoutes } from './routes/events.ts'
import { insightRoutes } from './routes/insight.ts'
import { jobRoutes } from './routes/jobs.ts'
import { limitRoutes } from './routes/limits.ts'
import { meterRoutes } from './routes/meters.ts'
import { pageRoutes } from './routes/page.ts'
import { sessionRoutes } from './routes/session.ts'
import { systemRoutes } from './routes/system.ts'
import { type HttpOptions, httpOptionsSchema, type MeterPort } from './settings.ts'
import { WalkQuota } from './walk-quota.ts'
import { WatchedKeys } from './watched-keys.ts'

const CORS = {
  allowMethods: ['GET', 'POST', 'PUT', 'DELETE'],
  allowHeaders: [
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'If-Match',
    'Last-Event-ID',
    'X-Request-Id',
  ],
  exposeHeaders: [
    'ETag',
    'Location',
    'RateLimit',
    'RateLimit-Policy',
    'Retry-After',
    'Idempotent-Replayed',
    'X-Request-Id',
  ],
}

/** The HTTP API. Serve it with `serveHttp`, or mount it in another app: `host.mount('/shaper', app.fetch)`. */
export class HttpApp extends OpenAPIHono<HttpEnv> {
  readonly #feed: EventFeed
  readonly #authenticator: Authenticator
  #description: Uint8Array<ArrayBuffer> | undefined

  /** @internal */
  constructor(feed: EventFeed, authenticator: Authenticator) {
    super({ getPath: ({ url }) => rawPath(url) })
    this.#feed = feed
    this.#authenticator = authenticator
  }

  /** The name of the token in an `Authorization` header; undefined if there is none, or it is unknown. */
  clientOf(authorization: string | undefined): string | undefined {
    return this.#authenticator.nameOf(authorization)
  }

  /**
   * The OpenAPI description as JSON, the same bytes each time. The first call makes it, which takes tens of milliseconds:
   * call it before requests come.
   */
  describe(): Uint8Array<ArrayBuffer> {
    this.#description ??= new TextEncoder().encode(
      JSON.stringify(
        this.getOpenAPI31Document({
          openapi: '3.1.0',
          servers: [{ url: '/' }],
          info: { title: 'velvet-rope', version: '1', description: DESCRIPTION },
        }),
      ),
    )
    return this.#description
  }

  /** Ends every stream of events; their clients reconnect, here or elsewhere. */
  endStreams(): void {
    this.#feed.end()
  }
}

/**
 * Creates the HTTP API of a shaper. Its OpenAPI description is at `/openapi.json`.
 *
 * @throws InvalidOptionsError
 */
export function createHttpApp<Data, Result>(
  shaper: Shaper<Data, Result>,
  options: HttpOptions = {},
): HttpApp {
  const settings = parseOptions(httpOptionsSchema, options, 'createHttpApp')
  const feed = new EventFeed(shaper as Shaper, settings)
  const authenticator = new Authenticator(settings.tokens, settings.now)
  const overload = new OverloadGuard(settings.overload, heapOf(shaper as Shaper, settings.meter), settings)
  const turns = new LoopTurns()
  const watched = new WatchedKeys(settings.maxWatchedPerToken, settings.now)
  const walks = new WalkQuota()
  const api = { shaper: shaper as Shaper, settings, feed, authenticator, overload, turns, watched, walks }
  const app = new HttpApp(feed, authenticator)
  const { corsOrigins, onError } = settings
  app.use(frame(settings))
  app.use(checkServer())
  if (corsOrigins.length > 0) app.use(cors({ origin: corsOrigins, ...CORS }))
  app.use(refuseCrossSite(corsOrigins))
  app.notFound((context) => problemResponse(new Problem('not-found'), context.get('requestId')))
  app.onError((error, context) => {
    const requestId = context.get('requestId')
    const problem = problemOf(error)
    if (problem === undefined) onError?.(error, requestId)
    return problemResponse(problem ?? new Problem('internal'), requestId)
  })
  const ofApi = settings.routes === 'all' ? API : []
  const routes = [...ofApi.flatMap((routesOf) => routesOf(api)), ...systemRoutes(api, () => app.describe())]
  addRoutes(app, routes, api)
  return app
}

/** What the lines and the meter have on the heap. */
function heapOf({ heap }: Shaper, meter: MeterPort | undefined): HeapReport {
  if (meter?.heap === undefined) return heap
  const { heap: levels } = meter
  return {
    of: (key) => heap.of(key) + levels.of(key),
    sum: () => {
      const [{ bytes, segments }, metered] = [heap.sum(), levels.sum()]
      // A segment with jobs and meters is counted twice: to find those would take a walk over all.
      return { bytes: bytes + metered.bytes, segments: segments + metered.segments }
    },
  }
}

const API = [
  jobRoutes,
  bucketRoutes,
  insightRoutes,
  meterRoutes,
  limitRoutes,
  eventRoutes,
  sessionRoutes,
  pageRoutes,
]

const DESCRIPTION =
  'A queue-based traffic shaper: the jobs of a key wait in line and depart at its rate. Errors are problems (RFC 9457).'

function addRoutes(app: HttpApp, routes: readonly Route[], api: RouteContext): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token with scopes and key prefixes. Not needed where the service has no tokens.',
  })
  const byBase = new Map<string, Route[]>()
  for (const route of routes) {
    app.openAPIRegistry.registerPath(operationOf(route))
    const { base } = splitPattern(route.path)
    byBase.set(base, [...(byBase.get(base) ?? []), route])
  }
  // A wildcard also matches the path without its last slash, so shorter paths are registered first.
  const byLength = [...byBase].sort(([one], [other]) => one.length - other.length)
  for (const [base, group] of byLength) {
    const dispatch = new Dispatch(base, group, api)
    const hasSubject = group.some(({ path }) => path.includes('{'))
    app.all(hasSubject ? `${base}*` : base, (context) => dispatch.answer(context))
  }
}
