import { isIP, SocketAddress } from 'node:net'
import { describe } from '../core/describe.ts'
import { InvalidKeyError } from '../core/errors.ts'

/**
 * A key for whoever is behind an IP address. IPv4 as it is; IPv6 by its network of 64 bits, `2001:db8:1:2::`, since any
 * customer has one of those to himself, with more addresses than any store could count; IPv4 that is written as IPv6
 * (`::ffff:192.0.2.1`) as IPv4; the name of an interface (`fe80::1%eth0`) is left out.
 *
 * The address must be the client's: behind a proxy tell the framework whom to trust, or all clients are one.
 *
 * @throws InvalidKeyError for what is no address, also when it comes with a port
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

/** One text for each address, as RFC 5952 has it; with an IPv4 at its end where it is a mapped one. */
function canonical(address: string): string {
  return new SocketAddress({ address, family: 'ipv6' }).address
}

function network(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? []
  if (mapped !== undefined) return mapped
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  // What stands for zeros reaches beyond the fourth group, unless it is short and far in front.
  const missing = tail === undefined ? 0 : 8 - groups.length - groupCount(tail)
  const first = [...groups, ...Array<string>(missing).fill('0'), ...(tail ?? '').split(':')].slice(0, 4)
  return canonical(`${first.join(':')}::`)
}

/** An IPv4 address takes the place of two. */
function groupCount(tail: string): number {
  return tail === '' ? 0 : tail.split(':').length + (tail.includes('.') ? 1 : 0)
}
