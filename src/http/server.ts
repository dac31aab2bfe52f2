import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { Connections } from './connections.ts'
import { framed } from './guards.ts'
import { Problem, problemResponse } from './problem.ts'
import type { HttpEnv } from './route.ts'
import { type Door, inUrl, ownHosts } from './server-context.ts'
import {
  isLoopback,
  notLoopback,
  parseServeOptions,
  type ServeOptions,
  type ServeSettings,
} from './server-options.ts'

export type { ServeOptions } from './server-options.ts'

/** An `HttpApp`, or an app around it. */
export interface Servable {
  fetch(request: Request, env: HttpEnv['Bindings']): Response | Promise<Response>
  endStreams(): void
}

/** How often Node looks for requests that are overdue. */
const LONGEST_CHECK_MS = 1_000

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'a free port, got one that is in use',
  EACCES: 'a port that this user may listen on, got one that needs more rights',
  EADDRNOTAVAIL: 'an address of this machine, got another',
  ENOTFOUND: 'a host that can be found, got one that cannot',
}

/** A server that listens. */
export class HttpServer {
  /** Where it is reached, such as `http://127.0.0.1:7077`. */
  readonly url: string
  /** What it is bound to; the port is never 0. */
  readonly address: { readonly host: string; readonly port: number }
  readonly #server: Server
  readonly #connections: Connections
  readonly #endStreams: () => void
  #closed: Promise<void> | undefined

  /** @internal */
  constructor(server: Server, connections: Connections, host: string, endStreams: () => void) {
    const { address, port } = server.address() as AddressInfo
    this.url = `http://${inUrl(host)}:${port}`
    this.address = Object.freeze({ host: address, port })
    this.#server = server
    this.#connections = connections
    this.#endStreams = endStreams
  }

  /**
   * Accepts no more connections, ends the streams of events, lets the requests under way finish, and cuts off what is
   * left after `deadlineMs`. Safe to call twice.
   */
  close(deadlineMs = 10_000): Promise<void> {
    this.#closed ??= this.#close(deadlineMs)
    return this.#closed
  }

  async #close(deadlineMs: number): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#connections.takeLeave()
    // One that is open would keep the server from closing for ever.
    this.#endStreams()
    const timer = setTimeout(() => this.#connections.destroy(), deadlineMs)
    await closed
    clearTimeout(timer)
  }
}

/**
 * Serves an app over HTTP. Without tokens it listens to this machine only, and answers only those who call it by one of
 * its names.
 *
 * @throws InvalidOptionsError, also when the address is in use or cannot be had
 */
export async function serveHttp(app: Servable, options: ServeOptions): Promise<HttpServer> {
  const settings = parseServeOptions(options)
  const { host, port, hasTokens, replacesGlobals } = settings
  const connections = new Connections()
  const door: Door = {
    isKnownHost: hasTokens ? () => true : ownHosts(host),
    isClosing: () => connections.isLeaving,
    needsToken: hasTokens,
  }
  const listener = getRequestListener(
    (request, { incoming, outgoing }) =>
      app.fetch(request, {
        door,
        host: hostOf(incoming as IncomingMessage),
        outgoing: outgoing as ServerResponse,
      }),
    { hostname: host, overrideGlobalObjects: replacesGlobals, errorHandler: answerToFault },
  )
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    connections.serve(incoming.socket, outgoing)
    void listener(incoming, outgoing)
  }
  const server = createServer(serverOptions(settings), onRequest)
  // Whatever else somebody expects, he gets the answer to his request.
  server.on('checkExpectation', onRequest)
  server.maxConnections = settings.maxConnections
  server.setTimeout(settings.idleTimeoutMs)
  server.on('connection', (socket) => connections.add(socket))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    connections.turnAway(socket, error.code),
  )
  await listen(server, host, port)
  // A connection that cannot be accepted, for want of file handles say, is no reason to end the process.
  server.on('error', () => undefined)
  // A machine may know localhost as something else.
  if (!hasTokens && !isLoopback((server.address() as AddressInfo).address)) {
    server.close()
    throw notLoopback(host)
  }
  return new HttpServer(server, connections, host, () => app.endStreams())
}

function serverOptions(settings: ServeSettings) {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, maxHeaderBytes } = settings
  return {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    maxHeaderSize: maxHeaderBytes,
    // Node would refuse a request without Host by itself, and not as a problem.
    requireHostHeader: false,
    connectionsCheckingInterval: Math.min(LONGEST_CHECK_MS, headersTimeoutMs),
  }
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const reason = REASONS[code] ?? `an address to listen on, got one that fails with ${code}`
    throw new InvalidOptionsError(`serveHttp: expected ${reason}: ${quote(`${inUrl(host)}:${port}`)}`)
  }
}

/**
 * Whom a request calls: where its target is absolute, that counts and not `Host` (RFC 9112, section 3.2.2).
 *
 * @throws RequestError where there is not one `Host` (section 3.2); HTTP/1.0 may do without
 */
function hostOf({ rawHeaders, headers, httpVersionMinor, url = '' }: IncomingMessage): string | undefined {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.length === 4 && rawHeaders[index]!.toLowerCase() === 'host') count++
  }
  if (count > 1 || (count === 0 && httpVersionMinor > 0)) throw new RequestError('expected one Host')
  return url.startsWith('/') ? headers.host : URL.parse(url)?.host
}

/** What never reached the app: a request whose target or `Host` makes no URL, or one that the app could not answer. */
function answerToFault(error: unknown): Response {
  const problem = error instanceof RequestError ? new Problem('bad-request') : new Problem('internal')
  return framed((requestId) => problemResponse(problem, requestId))
}
