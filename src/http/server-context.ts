/** What the server that received a request tells the app. */
export interface ServerContext {
  /** Whether the host in a request is served here. */
  isKnownHost(host: string | undefined): boolean
  /** Whether the server is shutting down and accepts no new requests. */
  isClosing(): boolean
  /** Whether every request needs a token, even if the app has none: the server does not listen on loopback only. */
  readonly needsToken: boolean
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

/**
 * Returns a check for the `Host` header. A page of another site can point its own name to this machine (DNS rebinding)
 * and would then count as the same origin; but the browser sends that name in `Host`.
 */
export function ownHosts(boundHost: string): (host: string | undefined) => boolean {
  const known = new Set([...LOOPBACK_NAMES, inUrl(boundHost).toLowerCase()])
  return (host) => {
    const [, name] = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/.exec(host ?? '') ?? []
    return name !== undefined && known.has(name.toLowerCase())
  }
}

/** The host as a URL spells it. */
export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
