import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Meter } from '../meter/meter.ts'
import { combined, type PoliceOptions, policeOf, type Ruling } from './police.ts'

/** The fields of an Express request that keys may use. */
export interface ExpressRequest extends IncomingMessage {
  /** Depends on the setting `trust proxy`. */
  readonly ip?: string | undefined
  readonly path: string
  readonly originalUrl: string
}

/**
 * Middleware for Express 4 and 5, and for any framework that calls `(request, response, next)`: passes a request on
 * while the bucket of its key has room, and otherwise answers 429.
 *
 *     app.use('/api', policeExpress(meter, { key: (request) => ipKey(request.ip) }))
 *
 * Errors of `key`, `amount` and `costs`, and of a key without a limit, go to `next`.
 *
 * @throws InvalidOptionsError
 */
export function policeExpress<Request extends IncomingMessage = ExpressRequest>(
  meter: Meter,
  options: PoliceOptions<Request>,
): (request: Request, response: ServerResponse, next: (error?: unknown) => void) => void {
  const judge = policeOf(meter, options, 'policeExpress')
  return (request, response, next) => {
    void judge(request)
      .then((ruling) => apply(ruling, response))
      .then((passes) => {
        if (passes) next()
      }, next)
  }
}

/** Returns whether the request is passed on. */
function apply(ruling: Ruling, response: ServerResponse): boolean {
  // Something else has responded already, a timeout, say.
  if (response.headersSent) return ruling.passes
  for (const [name, value] of Object.entries(ruling.headers)) {
    const isField = name.startsWith('ratelimit')
    response.setHeader(name, isField ? combined(response.getHeader(name), value) : value)
  }
  if (ruling.passes) return true
  response.statusCode = ruling.status
  response.end(ruling.body)
  return false
}
