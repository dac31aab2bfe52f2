import { isIP, isIPv6, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { FinalError } from '../core/handler-errors.ts'
import { toError } from '../core/thrown.ts'
import { type AddressClass, classifyAddress } from './address-class.ts'
import type { PrivateHosts } from './origins.ts'

/** Returns all addresses of a host, as `dns.lookup` does. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

const PUBLIC: ReadonlySet<AddressClass> = new Set(['public'])
const PRIVATE_TOO: ReadonlySet<AddressClass> = new Set(['public', 'private'])

/**
 * Opens connections only to checked addresses: a name is resolved once per connection, every address must pass, and the
 * socket gets these addresses instead of the name, so that a second DNS reply cannot introduce another one. TLS still
 * checks the certificate against the name.
 */
export function guardedConnect(resolve: Resolve, privateHosts: PrivateHosts): buildConnector.connector {
  const connectors = new Map([PUBLIC, PRIVATE_TOO].map((good) => [good, connectorFor(resolve, good)]))
  return (options, callback) => connectors.get(goodFor(options, privateHosts))!(options, callback)
}

/** Returns what is wrong with the address in a URL; undefined if it contains none, or an allowed one. */
export function faultOfAddress(
  { hostname: written, port, protocol }: URL,
  privateHosts: PrivateHosts,
): string | undefined {
  const hostname = written.replace(/^\[|\]$/g, '')
  const isGood =
    isIP(hostname) === 0 || goodFor({ hostname, port, protocol }, privateHosts).has(classifyAddress(hostname))
  return isGood ? undefined : refusalOf(hostname, hostname)
}

/** The classes of addresses that a host may have. @param hostname without brackets */
function goodFor(
  { hostname, port, protocol }: Pick<buildConnector.Options, 'hostname' | 'port' | 'protocol'>,
  privateHosts: PrivateHosts,
): ReadonlySet<AddressClass> {
  return privateHosts.has(hostname, port || (protocol === 'https:' ? '443' : '80')) ? PRIVATE_TOO : PUBLIC
}

function connectorFor(resolve: Resolve, good: ReadonlySet<AddressClass>): buildConnector.connector {
  const connect = buildConnector({
    lookup: guardedLookup(resolve, good),
    autoSelectFamily: true,
    allowH2: false,
  })
  return (options, callback) => {
    // There is no look-up for an address, so it is checked here.
    if (isIP(options.hostname) !== 0 && !good.has(classifyAddress(options.hostname))) {
      queueMicrotask(() => callback(refusal(options.hostname, options.hostname), null))
      return
    }
    connect(options, callback)
  }
}

/** A lookup that returns addresses of the classes in `good`, or fails if one is not. */
function guardedLookup(resolve: Resolve, good: ReadonlySet<AddressClass>): LookupFunction {
  return (hostname, options, callback) => {
    judged(hostname, resolve, good).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
        if (options.all === true) callback(null, found)
        else callback(null, found[0]!.address, found[0]!.family)
      },
      (error: unknown) => callback(toError(error), ''),
    )
  }
}

async function judged(
  hostname: string,
  resolve: Resolve,
  good: ReadonlySet<AddressClass>,
): Promise<readonly string[]> {
  const addresses = await resolve(hostname)
  if (addresses.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' })
  const bad = addresses.find((address) => !good.has(classifyAddress(address)))
  if (bad !== undefined) throw refusal(hostname, bad)
  return addresses
}

function refusal(hostname: string, address: string): FinalError {
  return new FinalError(refusalOf(hostname, address))
}

/** The message does not contain the address: a job could use that to explore a private network. */
function refusalOf(hostname: string, address: string): string {
  const hint =
    classifyAddress(address) === 'private' ? '; a host may be private if allowPrivate names it' : ''
  return `expected ${hostname} to have public addresses only, got another${hint}`
}
