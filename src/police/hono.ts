import type { Context, Env, MiddlewareHandler } from 'hono'
import type { Meter } from '../meter/meter.ts'
import { type PoliceOptions, policeOf } from './police.ts'

/**
 * Middleware for Hono that lets a request through while its key's bucket has room, and else answers 429.
 *
 *     app.use('/api/*', policeHono(meter, { key: (context) => context.req.header('x-account') ?? 'nobody' }))
 *
 * Errors of `key` and `amount`, and of a key that no limit governs, are thrown.
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
    // Afterwards, since a handler may answer with a response of its own.
    for (const [name, value] of Object.entries(ruling.headers)) {
      context.header(name, value, { append: true })
    }
    return undefined
  }
}
