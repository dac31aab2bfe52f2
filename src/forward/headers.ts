import { quote } from '../core/describe.ts'

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/
const VALUE = /^[\t\x20-\x7e]*$/
const LONGEST_VALUE = 8_192
const MOST = 64

/** These frame the message or belong to one connection: setting them could smuggle a second request. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** The forwarder sets these. */
const OURS: ReadonlySet<string> = new Set(['accept-encoding', 'idempotency-key'])
const OUR_PREFIXES = ['shaper-', 'webhook-']

/** With these a proxy says where a request came from; the third party may believe them. Only the configuration may set them. */
const FORWARDED =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|cf-connecting-ip|(?:x-|x-cluster-|true-|fastly-)?client-ip)$/
/**
 * These ask for a part of an answer, or for another encoding: a secret that the third party echoes could not be found in it.
 * RFC 9110 (14.2, 13.1.5 and 12.5.2), RFC 3229 (A-IM), and the name of Range before it was standardized.
 */
const ALTERING: ReadonlySet<string> = new Set([
  'range',
  'request-range',
  'if-range',
  'accept-charset',
  'a-im',
])

const SECRETS = /^(?:authorization|cookie)$|(?:token|secret|password|(?:api|access)-?key)$/

/** Whether a header is a secret by its name: its value comes from the environment, never from a file or a job. */
export function isSecretHeader(name: string): boolean {
  return SECRETS.test(alike(name))
}

/**
 * The name as programs may read it that turn headers into variables: CGI and its successors make `_` of `-`, and some of every
 * other sign. `X_Forwarded_For` is `X-Forwarded-For` to them, and `content_length` is `Content-Length`.
 */
export function alike(name: string): string {
  return name.toLowerCase().replace(/[^0-9a-z]/g, '-')
}

/** Returns why a job may not set the header; undefined: it may. @param hasSecrets its request gets headers with secrets */
export function faultOfJobHeader(name: string, hasSecrets: boolean): string | undefined {
  const meant = alike(name)
  if (SECRETS.test(meant)) {
    return `the header ${name} is a secret: expected in the headers of the configuration, got in a job`
  }
  if (FORWARDED.test(meant)) {
    return `the header ${name} says where a request came from and cannot be set by a job`
  }
  if (hasSecrets && ALTERING.has(meant)) {
    return `the header ${name} cannot be set by a job where the configuration adds secrets: they could not be found in the answer`
  }
  return undefined
}

/** Returns what is wrong with a header, or undefined; a value is never shown. */
function headerFault(name: string, value: string): string | undefined {
  const known = name.toLowerCase()
  if (!NAME.test(known)) return `the header name ${quote(name)} is invalid`
  const meant = alike(known)
  if (CONNECTION_HEADERS.has(meant) || meant === 'proxy' || meant.startsWith('proxy-')) {
    return `the header ${known} belongs to the connection and cannot be set`
  }
  if (OURS.has(meant) || OUR_PREFIXES.some((prefix) => meant.startsWith(prefix))) {
    return `the header ${known} is set by the forwarder and cannot be set`
  }
  if (value.length > LONGEST_VALUE) return `the header ${known} is longer than ${LONGEST_VALUE} characters`
  // Beyond ASCII the two sides may disagree about the encoding.
  if (!VALUE.test(value)) return `the header ${known} contains a character that is not printable ASCII`
  return undefined
}

/**
 * Returns the headers with names in lower case.
 *
 * @param refuse throws an error with what is wrong
 */
export function readHeaders(
  headers: Readonly<Record<string, string>>,
  refuse: (fault: string) => never,
): ReadonlyMap<string, string> {
  const read = new Map<string, string>()
  const meant = new Set<string>()
  const entries = Object.entries(headers)
  if (entries.length > MOST) refuse(`there are ${entries.length} headers, expected at most ${MOST}`)
  for (const [name, value] of entries) {
    const fault = headerFault(name, value)
    if (fault !== undefined) refuse(fault)
    const known = name.toLowerCase()
    if (meant.has(alike(known))) refuse(`the header ${known} occurs twice`)
    meant.add(alike(known))
    read.set(known, value)
  }
  return read
}

/** Encodes a key as a header value: anything but visible ASCII is percent-encoded, and so is the percent sign. */
export function keyHeader(key: string): string {
  return key.replace(/[^\x21-\x7e]|%/gu, encodeURIComponent)
}
