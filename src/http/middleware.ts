import { randomUUID } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { monotonicNow } from '../core/clock.ts'
import { Problem, reducedCapacity } from './problem.ts'
import type { HttpEnv } from './route.ts'
import type { HttpSettings } from './settings.ts'

const SANE_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Headers for answers that are data; the page has a policy of its own. */
export const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const

/**
 * Gives every request an id (its own `X-Request-Id` if valid) and every answer its headers, and calls `onRequest`. An error in that callback
 * does not change the answer: an accepted job must not be reported as an error.
 */
export function frame({
  onRequest,
  onError,
}: Pick<HttpSettings, 'onRequest' | 'onError'>): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const begun = monotonicNow()
    const given = context.req.header('X-Request-Id')
    const requestId = given !== undefined && SANE_ID.test(given) ? given : randomUUID()
    context.set('requestId', requestId)
    context.set('route', 'unknown')
    await next()
    if (context.get('hasSecurityHeaders') !== true) addHeaders(context.res, requestId)
    const { status } = context.res
    const ms = (monotonicNow() - begun) / 1_000
    try {
      onRequest?.({ method: context.req.method, route: context.get('route'), status, ms, requestId })
    } catch (error) {
      onError?.(error, requestId)
    }
  }
}

/**
 * A JSON response with all its headers. Adding headers later costs as much as the rest of an answer, since each one is
 * looked up and checked.
 */
export function jsonResponse(
  context: Context<HttpEnv>,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Response {
  context.set('hasSecurityHeaders', true)
  const own = { 'content-type': 'application/json', ...headers, 'x-request-id': context.get('requestId') }
  return new Response(JSON.stringify(body), { status, headers: { ...own, ...SECURITY_HEADERS } })
}

/** Adds the common headers to a response for a request that never reached the app. */
export function withHeaders(answer: (requestId: string) => Response): Response {
  const requestId = randomUUID()
  const response = answer(requestId)
  addHeaders(response, requestId)
  return response
}

function addHeaders({ headers }: Response, requestId: string): void {
  headers.set('X-Request-Id', requestId)
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
    if (!headers.has(name)) headers.set(name, value)
  }
}

/** Refuses requests while the server shuts down, and requests for another host. */
export function checkServer(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const { velvetRope: server } = context.env ?? {}
    if (server !== undefined) {
      if (server.isClosing()) throw reducedCapacity('the service is shutting down', 5)
      if (!server.isKnownHost(context.env.host)) throw new Problem('foreign-host')
    }
    await next()
  }
}

/**
 * Refuses requests that pages of other sites make a browser send: changes, and streams, which are limited in number.
 * Browsers say where a request comes from (`Sec-Fetch-Site`, or at least `Origin`). Clients that are no browsers do not,
 * and are accepted. So is navigation by a link.
 */
export function refuseCrossSite(allowed: readonly string[]): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const { method } = context.req
    const isNavigation =
      method === 'OPTIONS' || (isRead(method) && context.req.header('Sec-Fetch-Mode') === 'navigate')
    if (!isNavigation && isCrossSite(context, allowed)) throw new Problem('cross-site')
    await next()
  }
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

function isCrossSite({ req, env }: Context<HttpEnv>, allowed: readonly string[]): boolean {
  const origin = req.header('Origin')
  if (origin !== undefined && allowed.includes(origin)) return false
  const site = req.header('Sec-Fetch-Site')
  // Another port of this machine counts as the same site, so only the same origin is trusted.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && origin.replace(/^[a-z]+:\/\//, '') !== (env?.host ?? req.header('Host'))
}
