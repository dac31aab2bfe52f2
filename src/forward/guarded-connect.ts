import { isIP, isIPv6, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { FinalError } from '../core/handler-errors.ts'
import { toError } from '../core/thrown.ts'
import { type AddressClass, classifyAddress } from './address-class.ts'
import type { PrivateHosts } from './origins.ts'

/** All addresses of a host, as `dns.lookup` finds them. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

const PUBLIC: ReadonlySet<AddressClass> = new Set(['public'])
const PRIVATE_TOO: ReadonlySet<AddressClass> = new Set(['public', 'private'])

/**
 * Opens connections to addresses that were judged, and to those only: a name is resolved once for each connection,
 * every address that it has must pass, and the socket gets these addresses rather than the name, so that a second
 * answer of the resolver cannot bring in another. TLS still checks the certificate against the name.
 */
export function guardedConnect(resolve: Resolve, privateHosts: PrivateHosts): buildConnector.connector {
  const connectors = new Map([PUBLIC, PRIVATE_TOO].map((good) => [good, connectorFor(resolve, good)]))
  return (options, callback) => connectors.get(goodFor(options, privateHosts))!(options, callback)
}

/** What is wrong with the address that a URL names; undefined where it names none, or one that may be called. */
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
    // Nothing is looked up for an address: it is judged here.
    if (isIP(options.hostname) !== 0 && !good.has(classifyAddress(options.hostname))) {
      queueMicrotask(() => callback(refusal(options.hostname, options.hostname), null))
      return
    }
    connect(options, callback)
  }
}

/** A lookup that answers with addresses of the classes in `good`, or fails if one is not. */
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

/** The address is not told: a job could use that to explore a private network. */
function refusalOf(hostname: string, address: string): string {
  const hint =
    classifyAddress(address) === 'private' ? '; a host may be private if allowPrivate names it' : ''
  return `expected ${hostname} to have public addresses only, got another${hint}`
}
