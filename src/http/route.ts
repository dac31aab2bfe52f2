import type { RouteConfig } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Shaper } from '../shaper/shaper.ts'
import type { Authenticator, Principal } from './access.ts'
import type { EventFeed } from './events/event-feed.ts'
import type { LoopTurns } from './loop-turns.ts'
import type { OverloadGuard } from './overload.ts'
import type { ProblemName } from './problem.ts'
import type { ServerContext } from './server-context.ts'
import type { HttpSettings } from './settings.ts'
import type { WalkQuota } from './walk-quota.ts'
import type { WatchedKeys } from './watched-keys.ts'
import type { Scope } from './wire.ts'

/** A parameter in OpenAPI. */
export type ParameterObject = {
  readonly name: string
  readonly in: 'header' | 'path'
  readonly required: boolean
  readonly description: string
  readonly schema: { type: 'string'; minLength?: number; maxLength?: number }
}

/** What the server passes to the app, and what the middleware and the dispatcher store for a route. */
export interface HttpEnv {
  Bindings: {
    /** From `serveHttp`; absent where the app is mounted elsewhere. */
    velvetRope?: ServerContext
    /** The host of the request: the authority of its target, else its `Host`. From `serveHttp`, too. */
    host?: string | undefined
    /** The response object of Node. */
    outgoing?: { destroy(): unknown }
    /** Calls back when the answer has been sent, or never will be. From `serveHttp`, too. */
    whenSent?: (callback: () => void) => void
  }
  Variables: {
    requestId: string
    /** The pattern of the route. */
    route: string
    /** The response already has the common headers. */
    hasSecurityHeaders?: boolean
  }
}

/** One request to a route, after the access checks. */
export interface Call {
  readonly context: Context<HttpEnv>
  readonly principal: Principal
  /** The decoded path parameter; empty where the path has none. */
  readonly subject: string
  /** Counts the request as so many in the rate of its token; it was counted by its announced length. @throws Problem 429 */
  readonly count: (units: number) => void
}

/** What the routes need to answer. */
export interface RouteContext {
  readonly shaper: Shaper
  readonly settings: HttpSettings
  readonly feed: EventFeed
  readonly authenticator: Authenticator
  readonly overload: OverloadGuard
  readonly turns: LoopTurns
  readonly watched: WatchedKeys
  readonly walks: WalkQuota
}

/**
 * One operation of the API: its description, the access it needs, and its handler. A path has at most one parameter.
 * `{key}` and `{pattern}` are checked against the prefixes of the token before the handler is called; `{id}` is not,
 * since only the job knows its key.
 */
export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  readonly path: string
  /** The scope that a token needs; absent: no token is needed. */
  readonly scope?: Scope
  /** Answered even while the process is overloaded. */
  readonly isExempt?: true
  /** The answer goes on after it has begun, and does not count as in flight: streams are limited in number. */
  readonly isStream?: true
  readonly summary: string
  readonly request?: RouteConfig['request']
  /** The request headers that the route reads. */
  readonly parameters?: ParameterObject[]
  /** The successful answers, by status. */
  readonly answers: RouteConfig['responses']
  /** The problems of this route, beside those of every route. */
  readonly problems: readonly ProblemName[]
  readonly answer: (call: Call) => Promise<Response> | Response
}
