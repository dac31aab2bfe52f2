import type { RedisOptions } from 'ioredis'
import { quote } from '../../core/describe.ts'
import { InvalidOptionsError } from '../../core/errors.ts'
import { parseUrl } from '../../core/url.ts'

/**
 * Reads `redis://[[user]:password@]host[:port][/db]`, `rediss://` (TLS), `unix:///path` and `/path`; `?db=` and
 * `?family=4` or `6` are understood. Messages show no part of the text: with a character that was not escaped, a password can
 * stand in any part of it.
 *
 * @throws InvalidOptionsError
 */
export function readConnectionUrl(text: string): RedisOptions {
  if (text.startsWith('/') && !text.startsWith('//')) return { path: text }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined) {
    throw expected(
      'a Redis URL (redis://, rediss:// or unix://)',
      text === '' ? '""' : 'text without a scheme',
    )
  }
  if (!SCHEMES.has(scheme)) {
    throw expected('a Redis URL (redis://, rediss:// or unix://)', `a URL that begins with ${quote(scheme)}`)
  }
  const url = parse(text)
  if (url.hash !== '') throw expected('a URL without #', 'one with it; write it as %23 in a password')
  const path = decode(url.pathname)
  const target = scheme === 'unix' ? { path: socketOf(url, path) } : serverOf(url, path)
  return { ...target, ...settingsOf(url.searchParams), ...(scheme === 'rediss' && { tls: {} }) }
}

const SCHEMES = new Set(['redis', 'rediss', 'unix'])

function parse(text: string): URL {
  // The error of the URL constructor would carry the text.
  const url = parseUrl(text)
  if (url !== undefined) return url
  throw expected('a Redis URL', 'one that cannot be read; write / ? # @ in a password as %2F %3F %23 %40')
}

function serverOf(url: URL, path: string): RedisOptions {
  const db = path.replace(/^\//, '')
  return {
    ...(url.hostname !== '' && { host: url.hostname.replace(/^\[|\]$/g, '') }),
    ...(url.port !== '' && { port: Number(url.port) }),
    ...(url.username !== '' && { username: decode(url.username) }),
    ...(url.password !== '' && { password: decode(url.password) }),
    ...(db !== '' && { db: databaseOf(db) }),
  }
}

function socketOf(url: URL, path: string): string {
  if (url.host !== '' || path.length < 2)
    throw expected('unix:///path/of/socket', 'a unix:// URL of another form')
  return path
}

function settingsOf(given: URLSearchParams): RedisOptions {
  const settings: RedisOptions = {}
  for (const [name, value] of given) {
    if (name === 'db') settings.db = databaseOf(value)
    else if (name === 'family' && /^[46]$/.test(value)) settings.family = Number(value)
    else throw expected('db=<number>, family=4 or family=6 behind the ? of the URL', 'something else')
  }
  return settings
}

function databaseOf(text: string): number {
  if (!/^\d{1,6}$/.test(text)) {
    throw expected(
      'the database of the URL to be a whole number',
      'something else; write a / in a password as %2F',
    )
  }
  return Number(text)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw expected('a Redis URL', 'one with a % that escapes nothing; write it as %25')
  }
}

function expected(what: string, came: string): InvalidOptionsError {
  return new InvalidOptionsError(`connection: expected ${what}, got: ${came}`)
}
