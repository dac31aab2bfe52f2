/** What a server tells the app about the door that a request came through. */
export interface Door {
  /** Whether the host that a request calls is one of ours. */
  isKnownHost(host: string | undefined): boolean
  /** Whether it takes leave: what is under way ends, and nothing new begins. */
  isClosing(): boolean
  /** Nobody comes in without a token, even if the app has none: this door is not for its own machine only. */
  readonly needsToken: boolean
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

/**
 * Tells whose `Host` is ours. A page of another site can have its own name point to this machine (DNS rebinding), and
 * would then be let in as one of ours; but the browser says that name in `Host`.
 */
export function ownHosts(boundHost: string): (host: string | undefined) => boolean {
  const known = new Set([...LOOPBACK_NAMES, inUrl(boundHost).toLowerCase()])
  return (host) => {
    const [, name] = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/.exec(host ?? '') ?? []
    return name !== undefined && known.has(name.toLowerCase())
  }
}

/** As a URL writes it. */
export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
