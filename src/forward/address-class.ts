import { BlockList, isIP, SocketAddress } from 'node:net'

/**
 * The class of an IP address.
 *
 * | class   | meaning                                                                                          |
 * |---------|--------------------------------------------------------------------------------------------------|
 * | public  | unicast of the public internet                                                                   |
 * | private | loopback, private, shared (CGNAT) or unique local: allowed only for hosts in `allowPrivate`      |
 * | never   | link-local, metadata services, multicast, reserved, documentation, tunnels, and invalid text     |
 */
export type AddressClass = 'public' | 'private' | 'never'

/** IANA's special-purpose registries, and metadata services of clouds outside them. */
const NEVER = blockList([
  '0.0.0.0/8',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  'fd00:42::42/128',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
])
const PRIVATE = blockList([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
])
/** The allocated part of IPv6; anything outside is mapped, translated, local, multicast or unallocated. */
const GLOBAL_V6 = blockList(['2000::/3'])

/**
 * Classifies an address.
 *
 * @param address as a resolver returns it, without brackets; invalid text is `never`
 */
export function classifyAddress(address: string): AddressClass {
  // An address with a zone is not public.
  if (isIP(address) === 0 || address.includes('%')) return 'never'
  const plain = unmap(address)
  const family = isIP(plain) === 4 ? 'ipv4' : 'ipv6'
  if (NEVER.check(plain, family)) return 'never'
  if (PRIVATE.check(plain, family)) return 'private'
  return family === 'ipv4' || GLOBAL_V6.check(plain, family) ? 'public' : 'never'
}

/** Converts an IPv4-mapped IPv6 address (`::ffff:7f00:1`) to IPv4. */
function unmap(address: string): string {
  if (isIP(address) === 4) return address
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(canonical)?.[1] ?? canonical
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address, bits] = network.split('/')
    list.addSubnet(address!, Number(bits), isIP(address!) === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}
