import { BlockList, isIP } from 'node:net'
import { z } from 'zod'
import { describe, quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'

const milliseconds = z.int().min(1).max(3_600_000)

/** Options of `serveHttp`. Times are milliseconds. */
export const serveOptionsSchema = z.strictObject({
  /** A host name or an address; IPv6 without brackets. Default: 127.0.0.1. */
  host: z.string().min(1).max(253).default('127.0.0.1'),
  /** With 0 the system picks a free port. Default: 7077. */
  port: z.int().min(0).max(65_535).default(7_077),
  /** Whether the app requires tokens. If not, the server listens on loopback only. */
  hasTokens: z.boolean(),
  /**
   * Replaces the global `Request` and `Response` of this process by faster ones, which saves a fifth of a request's time.
   * Default: false.
   */
  replacesGlobals: z.boolean().default(false),
  /** How long the headers of a request may take. Default: 10 s. */
  headersTimeoutMs: milliseconds.default(10_000),
  /** How long a whole request may take, at least `headersTimeoutMs`. Default: 30 s. */
  requestTimeoutMs: milliseconds.default(30_000),
  /** How long an idle connection is kept for the next request. Default: 65 s, longer than load balancers keep it. */
  keepAliveTimeoutMs: milliseconds.default(65_000),
  /**
   * How long a connection may be silent during a request, such as a stream that the client does not read, before it is
   * closed; longer than the app's `keepAliveMs`. Default: 120 s.
   */
  idleTimeoutMs: milliseconds.default(120_000),
  /** The largest size of a request's headers. Default: 16 KiB. */
  maxHeaderBytes: z.int().min(1_024).max(1_048_576).default(16_384),
  /** Connections at once; further ones are closed immediately. Default: 10,000. */
  maxConnections: z.int().min(1).max(1_000_000).default(10_000),
  /**
   * Connections at once from one address, or from one IPv6 network of 64 bits; further ones are closed immediately. Behind a
   * proxy all connections have its address: then it is the limit of the proxy. Default: 1,000.
   */
  maxConnectionsPerAddress: z.int().min(1).max(1_000_000).default(1_000),
})

export type ServeOptions = z.input<typeof serveOptionsSchema>
export type ServeSettings = Readonly<z.output<typeof serveOptionsSchema>>

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** @throws InvalidOptionsError, also for options that contradict each other */
export function parseServeOptions(input: ServeOptions): ServeSettings {
  const settings = parseOptions(serveOptionsSchema, input, 'serveHttp')
  const { host, hasTokens, headersTimeoutMs, requestTimeoutMs } = settings
  if (headersTimeoutMs > requestTimeoutMs) {
    throw new InvalidOptionsError(
      `serveHttp: expected requestTimeoutMs to be at least headersTimeoutMs (${headersTimeoutMs}), ` +
        `got: ${describe(requestTimeoutMs)}`,
    )
  }
  if (!hasTokens && !isOfThisMachine(host)) throw notLoopback(host)
  return settings
}

/** Whether a host is loopback. Other names may resolve to any address, and to a different one tomorrow. */
export function isOfThisMachine(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopback(host)
}

/** Whether an address is loopback. */
export function isLoopback(address: string): boolean {
  const version = isIP(address)
  return version !== 0 && LOOPBACK.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

export function notLoopback(host: string): InvalidOptionsError {
  return new InvalidOptionsError(
    'serveHttp: without access tokens every client may do everything, so the server listens on loopback only: ' +
      `expected host to be localhost, 127.0.0.1 or ::1, or tokens to be configured, got: ${quote(host)}`,
  )
}
