import type { RouteConfig } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Shaper } from '../shaper/shaper.ts'
import type { Doorkeeper, Principal } from './access.ts'
import type { EventFeed } from './events/event-feed.ts'
import type { OverloadGuard } from './overload.ts'
import type { ProblemName } from './problem.ts'
import type { Door } from './server-context.ts'
import type { HttpSettings } from './settings.ts'
import type { Scope } from './wire.ts'

/** A parameter as OpenAPI describes it. */
export type ParameterObject = {
  readonly name: string
  readonly in: 'header' | 'path'
  readonly required: boolean
  readonly description: string
  readonly schema: { type: 'string'; minLength?: number; maxLength?: number }
}

/** What the server brings along, and what the middleware and the dispatcher leave for a route. */
export interface HttpEnv {
  Bindings: {
    /** Of `serveHttp`; absent where the app is mounted elsewhere. */
    door?: Door
    /** Whom the request calls: the authority of its target, or else its `Host`. Absent as the door is. */
    host?: string | undefined
    /** Of Node: the answer under way. */
    outgoing?: { destroy(): unknown }
  }
  Variables: {
    requestId: string
    /** The pattern of the route that answers. */
    route: string
    /** The answer has its headers already. */
    isDressed?: boolean
  }
}

/** One request to a route, after the checks of access. */
export interface Call {
  readonly context: Context<HttpEnv>
  readonly principal: Principal
  /** The decoded parameter of the path; empty where it has none. */
  readonly subject: string
}

/** What the routes work with. */
export interface House {
  readonly shaper: Shaper
  readonly settings: HttpSettings
  readonly feed: EventFeed
  readonly doorkeeper: Doorkeeper
  readonly overload: OverloadGuard
}

/**
 * One operation of the API: how it is described, who may call it, and what it does. A path has at most one parameter.
 * `{key}` and `{pattern}` are held against the prefixes of the token before the operation is called; `{id}` is not,
 * since only the job knows its key.
 */
export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  readonly path: string
  /** What a token must allow; absent: nobody is asked for one. */
  readonly scope?: Scope
  /** Answered also while there is more to do than can be done. */
  readonly isExempt?: true
  readonly summary: string
  readonly request?: RouteConfig['request']
  /** Headers that it reads, for the description. */
  readonly parameters?: ParameterObject[]
  /** The answers that are not problems, by status. */
  readonly answers: RouteConfig['responses']
  /** Beside those that any route has. */
  readonly problems: readonly ProblemName[]
  readonly answer: (call: Call) => Promise<Response> | Response
}
