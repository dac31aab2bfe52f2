import type { IncomingHttpHeaders } from 'node:http'
import type { Meter } from '../meter/meter.ts'
import { combined, type PoliceOptions, policeOf } from './police.ts'

/** The fields of a Fastify request that keys may use. */
export interface FastifyRequest {
  /** Depends on the option `trustProxy`. */
  readonly ip: string
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** The methods of a Fastify reply that are used. */
export interface FastifyReply {
  getHeader(name: string): unknown
  header(name: string, value: string): unknown
  code(status: number): unknown
  send(body: Buffer): unknown
}

/**
 * A hook for Fastify that passes a request on while the bucket of its key has room, and otherwise answers 429: for all
 * routes of a plugin (`onRequest`, before the body is read), or for one (`preHandler`, if `key` needs the body).
 *
 *     app.addHook('onRequest', policeFastify(meter, { key: (request) => ipKey(request.ip) }))
 *
 * Errors of `key`, `amount` and `costs`, and of a key without a limit, are thrown.
 *
 * @throws InvalidOptionsError
 */
export function policeFastify<Request = FastifyRequest>(
  meter: Meter,
  options: PoliceOptions<Request>,
): (request: Request, reply: FastifyReply) => Promise<unknown> {
  const judge = policeOf(meter, options, 'policeFastify')
  return async (request, reply) => {
    const ruling = await judge(request)
    for (const [name, value] of Object.entries(ruling.headers)) {
      const isField = name.startsWith('ratelimit')
      reply.header(name, isField ? combined(reply.getHeader(name), value) : value)
    }
    if (ruling.passes) return undefined
    reply.code(ruling.status)
    // For a string Fastify would extend the media type; and a hook that has responded must return the reply.
    return reply.send(Buffer.from(ruling.body))
  }
}
