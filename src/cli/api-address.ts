import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { parseUrl } from '../core/url.ts'

/** RFC 6750: what a bearer token may be made of. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/

/** The address of a service, ending with `/`. @throws InvalidOptionsError; a password in it shows up in no message */
export function checkApiUrl(text: string): URL {
  const url = parseUrl(text)
  if (url === undefined) throw refused('which cannot be read')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refused(`one that begins with ${quote(url.protocol.slice(0, -1))}`)
  }
  if (url.username !== '' || url.password !== '') throw refused('one with a user or a password; use --token')
  if (url.search !== '' || url.hash !== '') throw refused('one with ? or #')
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

/** @throws InvalidOptionsError, which does not show the token */
export function checkToken(token: string): string {
  if (TOKEN.test(token)) return token
  throw new InvalidOptionsError(
    'expected --token, or VELVET_ROPE_TOKEN in the environment, to be a bearer token: letters, digits and -._~+/=, got: ' +
      `${token.length} characters, some of them others`,
  )
}

function refused(came: string): InvalidOptionsError {
  return new InvalidOptionsError(
    `expected --url to be the address of a service, such as http://127.0.0.1:7077, got: ${came}`,
  )
}
