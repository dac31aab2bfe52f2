import { isIPv4, isIPv6 } from 'node:net'

/** The address on which a server listens. */
export interface ListenAddress {
  /** A name or an address; IPv6 without brackets. */
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
}

const FORM = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/
const NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

/** Parses `127.0.0.1:7077`, `localhost:7077` or `[::1]:7077`; returns undefined for anything else. */
export function parseListen(text: string): ListenAddress | undefined {
  const [, v6, name = '', digits] = FORM.exec(text) ?? []
  const port = Number(digits)
  if (!(port <= 65_535)) return undefined
  if (v6 !== undefined) return isIPv6(v6) ? { host: v6, port } : undefined
  // Text that looks like an IPv4 address must be one: 127.0.0.1.5 or 300.0.0.1 would be looked up as a name.
  const isHost = /^[\d.]+$/.test(name) ? isIPv4(name) : NAME.test(name)
  return isHost ? { host: name, port } : undefined
}

/** Formats an address so that `parseListen` returns it. */
export function formatListen({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
