import type { Context } from 'hono'
import { checkKey } from '../core/key.ts'
import { type Authenticator, OPEN, type Principal } from './access.ts'
import type { OverloadGuard } from './overload.ts'
import { rawPath, splitPattern, splitRest } from './path.ts'
import { Problem } from './problem.ts'
import { assertScope, assertWithin } from './rights.ts'
import type { HttpEnv, Route, RouteContext } from './route.ts'
import { unitsOf } from './token-rate.ts'

/** The routes under one base, such as `/v1/buckets/`: finds the route of a request, checks its access and answers it. */
export class Dispatch {
  readonly #base: string
  readonly #routes: readonly Route[]
  readonly #authenticator: Authenticator
  readonly #guard: OverloadGuard
  readonly #mostBytes: number

  constructor(
    base: string,
    routes: readonly Route[],
    { authenticator, overload, settings }: Pick<RouteContext, 'authenticator' | 'overload' | 'settings'>,
  ) {
    this.#base = base
    this.#routes = routes
    this.#authenticator = authenticator
    this.#guard = overload
    this.#mostBytes = Math.max(settings.bodyLimitBytes, settings.batchLimitBytes)
  }

  /** @throws Problem, or what the route throws */
  async answer(context: Context<HttpEnv>): Promise<Response> {
    const { route, subject } = this.#find(context.req.raw)
    context.set('route', route.path)
    if (!route.isExempt) this.#guard.assertCalm()
    const units = this.#unitsOf(context.req.header('Content-Length'))
    const principal = this.#admit(route, subject, context, units)
    const count = this.#authenticator.counter(principal, units)
    const call = async () => route.answer({ context, principal, subject, count })
    if (route.isExempt) return call()
    return this.#guard.run(call, principal, route.isStream ? undefined : context.env?.whenSent)
  }

  #find({ method: given, url }: Request): { readonly route: Route; readonly subject: string } {
    const method = given === 'HEAD' ? 'get' : given.toLowerCase()
    const path = rawPath(url)
    // The app may be mounted below another path.
    const rest = path.slice(path.indexOf(this.#base) + this.#base.length)
    const ofMethod = this.#routes.filter((route) => route.method === method)
    const verbs = verbsOf(ofMethod)
    const { subject, verb } = splitRest(rest, verbs)
    const route = ofMethod.find(({ path: pattern }) => splitPattern(pattern).verb === verb)
    if (route !== undefined && (rest !== '' || !route.path.includes('{'))) return { route, subject }
    throw this.#unknown(rest)
  }

  /** 405 where the path has another method, else 404. */
  #unknown(rest: string): Problem {
    const last = rest.slice(rest.lastIndexOf('/') + 1)
    const known = this.#routes.filter(({ path }) => {
      const { verb } = splitPattern(path)
      return verb === undefined || verb === last
    })
    const isBare = rest === '' && this.#routes.every(({ path }) => path.includes('{'))
    if (known.length === 0 || isBare) return new Problem('not-found')
    const methods = known.flatMap(({ method }) =>
      method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()],
    )
    return new Problem('method-not-allowed', {}, { Allow: [...new Set(methods)].join(', ') })
  }

  /** A body that is too large is not read, and counts as one request. */
  #unitsOf(length: string | undefined): number {
    const bytes = Number(length ?? 0)
    return bytes <= this.#mostBytes ? unitsOf(bytes) : 1
  }

  #admit({ scope, path }: Route, subject: string, context: Context<HttpEnv>, units: number): Principal {
    if (scope === undefined) return OPEN
    const principal = this.#authenticator.authenticate(
      context.req.header('Authorization'),
      context.env?.velvetRope?.needsToken,
      units,
    )
    assertScope(principal, scope)
    const [, what] = /\{(key|pattern)\}/.exec(path) ?? []
    if (what !== undefined) {
      checkKey(subject, what)
      assertWithin(principal, subject, what)
    }
    return principal
  }
}

function verbsOf(routes: readonly Route[]): string[] {
  return routes.flatMap(({ path }) => splitPattern(path).verb ?? [])
}
