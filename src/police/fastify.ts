import type { IncomingHttpHeaders } from 'node:http'
import type { Meter } from '../meter/meter.ts'
import { combined, type PoliceOptions, policeOf } from './police.ts'

/** What keys are made of, of a request of Fastify. */
export interface FastifyRequest {
  /** By the option `trustProxy`. */
  readonly ip: string
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** What is done with a reply of Fastify. */
export interface FastifyReply {
  getHeader(name: string): unknown
  header(name: string, value: string): unknown
  code(status: number): unknown
  send(body: Buffer): unknown
}

/**
 * A hook for Fastify that lets a request through while its key's bucket has room, and else answers 429: for all routes
 * of a plugin (`onRequest`, before the body is read), or for one (`preHandler`, when `key` needs the body).
 *
 *     app.addHook('onRequest', policeFastify(meter, { key: (request) => ipKey(request.ip) }))
 *
 * Errors of `key` and `amount`, and of a key that no limit governs, are thrown.
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
    // Of text it would complete the media type; and a hook that has answered says so by what it returns.
    return reply.send(Buffer.from(ruling.body))
  }
}
