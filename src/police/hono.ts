import type { Context, Env, MiddlewareHandler } from 'hono'
import type { Meter } from '../meter/meter.ts'
import { type PoliceOptions, policeOf } from './police.ts'

/**
 * Middleware for Hono that passes a request on while the bucket of its key has room, and otherwise answers 429.
 *
 *     app.use('/api/*', policeHono(meter, { key: (context) => context.req.header('x-account') ?? 'anonymous' }))
 *
 * Errors of `key`, `amount` and `costs`, and of a key without a limit, are thrown.
 *
 * @throws InvalidOptionsError
 */
export function policeHono<E extends Env = Env>(
  meter: Meter,
  options: PoliceOptions<Context<E>>,
): MiddlewareHandler<E> {
  const judge = policeOf(meter, options, 'policeHono')
  return async (context, next) => {
    const ruling = await judge(context)
    if (!ruling.passes) return new Response(ruling.body, ruling)
    await next()
    // Afterwards, because a handler may return its own response.
    for (const [name, value] of Object.entries(ruling.headers)) {
      context.header(name, value, { append: true })
    }
    return undefined
  }
}
