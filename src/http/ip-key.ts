import { isIP, SocketAddress } from 'node:net'
import { describe } from '../core/describe.ts'
import { InvalidKeyError } from '../core/errors.ts'

/**
 * Returns the key of an IP address. IPv4 as it is; IPv6 by its network of 64 bits, `2001:db8:1:2::`, because a customer
 * usually has one of those, with more addresses than any store could count; IPv4-mapped IPv6 (`::ffff:192.0.2.1`) as
 * IPv4; a zone (`fe80::1%eth0`) is left out.
 *
 * The address must be the client's: behind a proxy, configure the framework to trust it, or all clients have one key.
 *
 * @throws InvalidKeyError for an invalid address, or one with a port
 */
export function ipKey(address: string | undefined): string {
  const [plain = ''] = typeof address === 'string' ? address.split('%', 1) : []
  const version = isIP(plain)
  if (version === 4) return plain
  if (version === 6) return network(canonical(plain))
  throw new InvalidKeyError(
    `expected an IP address such as 192.0.2.1 or 2001:db8::1, without a port, got: ${describe(address)}`,
  )
}

/** The canonical text of an address (RFC 5952), with an IPv4 address at its end if it is a mapped one. */
function canonical(address: string): string {
  return new SocketAddress({ address, family: 'ipv6' }).address
}

function network(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? []
  if (mapped !== undefined) return mapped
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  // The abbreviated zeros extend beyond the fourth group, unless they are few and at the beginning.
  const missing = tail === undefined ? 0 : 8 - groups.length - groupCount(tail)
  const first = [...groups, ...Array<string>(missing).fill('0'), ...(tail ?? '').split(':')].slice(0, 4)
  return canonical(`${first.join(':')}::`)
}

/** An IPv4 address counts as two groups. */
function groupCount(tail: string): number {
  return tail === '' ? 0 : tail.split(':').length + (tail.includes('.') ? 1 : 0)
}
