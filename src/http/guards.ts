import { randomUUID } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { monotonicNow } from '../core/clock.ts'
import { Problem, reducedCapacity } from './problem.ts'
import type { HttpEnv } from './route.ts'
import type { HttpSettings } from './settings.ts'

const SANE_ID = /^[A-Za-z0-9._-]{1,64}$/

/** For answers that are data; a page that is served beside the API brings a policy of its own. */
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
 * Gives every request an id, its own if that is sane, and every answer its headers; and tells of the answer. That the
 * telling fails changes no answer: a job that was accepted must not be called an error.
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
    if (context.get('isDressed') !== true) dress(context.res, requestId)
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
 * JSON with all its headers at once: those that are added later cost as much as all else about an answer, since each is
 * looked up and checked.
 */
export function dressedJson(
  context: Context<HttpEnv>,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Response {
  context.set('isDressed', true)
  const own = { 'content-type': 'application/json', ...headers, 'x-request-id': context.get('requestId') }
  return new Response(JSON.stringify(body), { status, headers: { ...own, ...SECURITY_HEADERS } })
}

/** An answer to a request that never came in, with the headers that all have. */
export function framed(answer: (requestId: string) => Response): Response {
  const requestId = randomUUID()
  const response = answer(requestId)
  dress(response, requestId)
  return response
}

function dress({ headers }: Response, requestId: string): void {
  headers.set('X-Request-Id', requestId)
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
    if (!headers.has(name)) headers.set(name, value)
  }
}

/** Asks what the server knows of the door that a request came through. */
export function watchDoor(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const { door } = context.env ?? {}
    if (door !== undefined) {
      if (door.isClosing()) throw reducedCapacity('the service is going down', 5)
      if (!door.isKnownHost(context.env.host)) throw new Problem('foreign-host')
    }
    await next()
  }
}

/**
 * Refuses what a page of another site asks a browser for: changes, and streams that would take the places of others.
 * Browsers say where a request comes from (`Sec-Fetch-Site`, or at least `Origin`); other clients say nothing, and are let
 * through. So is who follows a link.
 */
export function refuseOtherSites(allowed: readonly string[]): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const { method } = context.req
    const isLook =
      method === 'OPTIONS' || (isRead(method) && context.req.header('Sec-Fetch-Mode') === 'navigate')
    if (!isLook && isFromElsewhere(context, allowed)) throw new Problem('cross-site')
    await next()
  }
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

function isFromElsewhere({ req, env }: Context<HttpEnv>, allowed: readonly string[]): boolean {
  const origin = req.header('Origin')
  if (origin !== undefined && allowed.includes(origin)) return false
  const site = req.header('Sec-Fetch-Site')
  // Another port of this machine counts as the same site, so only the same origin is trusted.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && origin.replace(/^[a-z]+:\/\//, '') !== (env?.host ?? req.header('Host'))
}
