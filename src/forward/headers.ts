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

const SECRETS = /^(?:authorization|cookie)$|(?:token|secret|password|(?:api|access)-?key)$/i

/** Whether a header is a secret by its name: its value comes from the environment, never from a file or a job. */
export function isSecretHeader(name: string): boolean {
  return SECRETS.test(name)
}

/** Returns what is wrong with a header, or undefined; a value is never shown. */
function headerFault(name: string, value: string): string | undefined {
  const known = name.toLowerCase()
  if (!NAME.test(known)) return `the header name ${quote(name)} is invalid`
  if (CONNECTION_HEADERS.has(known) || known.startsWith('proxy-')) {
    return `the header ${known} belongs to the connection and cannot be set`
  }
  if (OURS.has(known) || OUR_PREFIXES.some((prefix) => known.startsWith(prefix))) {
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
  const entries = Object.entries(headers)
  if (entries.length > MOST) refuse(`there are ${entries.length} headers, expected at most ${MOST}`)
  for (const [name, value] of entries) {
    const fault = headerFault(name, value)
    if (fault !== undefined) refuse(fault)
    const known = name.toLowerCase()
    if (read.has(known)) refuse(`the header ${known} occurs twice`)
    read.set(known, value)
  }
  return read
}

/** Encodes a key as a header value: anything but visible ASCII is percent-encoded, and so is the percent sign. */
export function keyHeader(key: string): string {
  return key.replace(/[^\x21-\x7e]|%/gu, encodeURIComponent)
}
