import { isIPv6 } from 'node:net'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { parseUrl } from '../core/url.ts'

/** `*` for one whole label, followed by at least two labels. */
const WILDCARD = /^\*(?:\.[^.*]+){2,}$/
const FIRST_LABEL = /^(https?:\/\/)[^./]+\./
const HOST_AND_PORT = /^(\[[^\][]+\]|[^\s:[\]/?#@\\*]+)(?::(\d{1,5}))?$/

/**
 * Parses an origin: `https://api.example.com`, `https://*.example.com:8443`.
 *
 * @param what the name of the setting in the message
 * @returns in the form of `URL.origin`
 * @throws InvalidOptionsError for anything with a path, user, other scheme or a wildcard elsewhere
 */
export function readOrigin(text: string, what: string): string {
  const url = parseUrl(text)
  const isOrigin =
    url !== undefined &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username + url.password + url.search + url.hash === '' &&
    url.pathname === '/' &&
    !url.hostname.endsWith('.') &&
    (!url.hostname.includes('*') || WILDCARD.test(url.hostname))
  if (isOrigin) return url.origin
  throw new InvalidOptionsError(
    `forward: expected ${what} to be an origin such as https://api.example.com, without a path, ` +
      // Text that may contain a password is not shown.
      `got: ${text.includes('@') ? 'one with a user' : quote(text)}`,
  )
}

/** Returns the entry of `allowed` that permits `url`: the same origin, or one with `*` for its first label. */
export function findOrigin(url: URL, allowed: ReadonlySet<string>): string | undefined {
  if (url.hostname.includes('*')) return undefined
  const family = url.origin.replace(FIRST_LABEL, '$1*.')
  return [url.origin, family].find((origin) => allowed.has(origin))
}

/** Hosts that may be private: `host` for every port of it, `host:port` for one. */
export class PrivateHosts {
  readonly #names: ReadonlySet<string>

  /** @throws InvalidOptionsError */
  constructor(entries: readonly string[]) {
    this.#names = new Set(entries.map(readHost))
  }

  /** @param hostname without brackets; @param port never empty */
  has(hostname: string, port: string): boolean {
    const host = isIPv6(hostname) ? `[${hostname}]` : hostname
    return this.#names.has(host) || this.#names.has(`${host}:${port}`)
  }
}

function readHost(entry: string): string {
  const [, host, port] = HOST_AND_PORT.exec(isIPv6(entry) ? `[${entry}]` : entry) ?? []
  const url = host === undefined ? undefined : parseUrl(`http://${host}`)
  if (url === undefined || Number(port ?? 1) > 65_535) {
    throw new InvalidOptionsError(
      `forward: expected allowPrivate to contain hosts such as db.internal or 10.0.0.7:8080, got: ${quote(entry)}`,
    )
  }
  return port === undefined ? url.hostname : `${url.hostname}:${Number(port)}`
}
