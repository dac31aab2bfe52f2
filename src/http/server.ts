import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { Connections } from './connections.ts'
import { withHeaders } from './middleware.ts'
import { Problem, problemResponse } from './problem.ts'
import type { HttpEnv } from './route.ts'
import { inUrl, ownHosts, type ServerContext } from './server-context.ts'
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
  /**
   * The client of a request by its `Authorization`, such as the name of its token; undefined if it is unknown. Where
   * requests wait, the clients take turns. Absent: all requests are of one client.
   */
  clientOf?(authorization: string | undefined): string | undefined
}

/** No token has this name. */
const UNKNOWN_CLIENT = ''

/** The interval at which Node checks for requests that time out. */
const LONGEST_CHECK_MS = 1_000

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'a free port, got one in use',
  EACCES: 'a port that this user may listen on, got one that needs more rights',
  EADDRNOTAVAIL: 'an address of this machine, got another one',
  ENOTFOUND: 'a known host, got an unknown one',
}

/** A listening server. */
export class HttpServer {
  /** Its address as a URL, such as `http://127.0.0.1:7077`. */
  readonly url: string
  /** The bound address; the port is never 0. */
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
   * Stops accepting connections, ends the streams of events, waits for the requests in flight, and closes the remaining
   * connections after `deadlineMs`. Safe to call twice.
   */
  close(deadlineMs = 10_000): Promise<void> {
    this.#closed ??= this.#close(deadlineMs)
    return this.#closed
  }

  async #close(deadlineMs: number): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#connections.closeIdle()
    // An open stream would keep the server from closing.
    this.#endStreams()
    const timer = setTimeout(() => this.#connections.destroy(), deadlineMs)
    await closed
    clearTimeout(timer)
  }
}

/**
 * Serves an app over HTTP. Without tokens it listens on loopback only, and answers only requests whose `Host` is a name of
 * loopback.
 *
 * @throws InvalidOptionsError, also when the address is in use or not available
 */
export async function serveHttp(app: Servable, options: ServeOptions): Promise<HttpServer> {
  const settings = parseServeOptions(options)
  const { host, port, hasTokens, replacesGlobals } = settings
  const connections = new Connections(
    settings,
    ({ headers }) => app.clientOf?.(headers.authorization) ?? UNKNOWN_CLIENT,
  )
  const context: ServerContext = {
    isKnownHost: hasTokens ? () => true : ownHosts(host),
    isClosing: () => connections.isDraining,
    needsToken: hasTokens,
  }
  const listener = getRequestListener(
    (request, { incoming, outgoing }) =>
      app.fetch(request, {
        velvetRope: context,
        host: hostOf(incoming as IncomingMessage),
        outgoing: outgoing as ServerResponse,
        whenSent: (callback) => connections.whenSent(outgoing as ServerResponse, callback),
      }),
    {
      hostname: host,
      overrideGlobalObjects: replacesGlobals,
      errorHandler: faultResponse,
      // Node reads what is left of a body after its response, within the time limit of the request, and only then the next
      // request. The adapter would end the connection after half a second, and with it the next request of a slow client.
      autoCleanupIncoming: false,
    },
  )
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    connections.serve(outgoing, () => listener(incoming, outgoing))
  }
  const server = createServer(serverOptions(settings), onRequest)
  // A request with an unknown Expect header is answered like any other.
  server.on('checkExpectation', onRequest)
  server.maxConnections = settings.maxConnections
  // Node would not show what follows the 1,000th header, such as another Host. Their size is limited.
  server.maxHeadersCount = 0
  server.setTimeout(settings.idleTimeoutMs)
  server.on('connection', (socket) => connections.add(socket))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    connections.reject(socket, error.code),
  )
  await listen(server, host, port)
  // A connection that cannot be accepted, such as without file handles, must not end the process.
  server.on('error', () => undefined)
  // A machine may resolve localhost to another address.
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
    // Node would refuse a request without Host itself, without a problem body.
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
 * The host of a request: that of an absolute target takes precedence over `Host` (RFC 9112, section 3.2.2).
 *
 * @throws RequestError unless there is exactly one `Host` (section 3.2); HTTP/1.0 may omit it
 */
function hostOf({ rawHeaders, headers, httpVersionMinor, url = '' }: IncomingMessage): string | undefined {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.length === 4 && rawHeaders[index]!.toLowerCase() === 'host') count++
  }
  if (count > 1 || (count === 0 && httpVersionMinor > 0)) throw new RequestError('expected one Host')
  return url.startsWith('/') ? headers.host : URL.parse(url)?.host
}

/** The response when the app did not answer: the target or `Host` makes no URL, or the app failed. */
function faultResponse(error: unknown): Response {
  const problem = error instanceof RequestError ? new Problem('bad-request') : new Problem('internal')
  return withHeaders((requestId) => problemResponse(problem, requestId))
}
