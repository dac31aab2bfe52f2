import { InvalidOptionsError } from '../core/errors.ts'
import { readConnectionUrl } from '../redis/connection/connection-url.ts'

/**
 * Checks that a Redis URL is given and valid.
 *
 * @param what the name of the setting in the message: `--redis`, `REDIS_URL`
 * @throws InvalidOptionsError if it is absent or invalid; no message shows its password
 */
export function checkRedisUrl(url: string | undefined, what: string): string {
  if (url === undefined || url.trim() === '') {
    throw new InvalidOptionsError(
      `expected ${what} to be a Redis URL such as redis://127.0.0.1:6379, got: nothing`,
    )
  }
  readConnectionUrl(url)
  return url
}

/** Formats the address of a Redis URL, without user and password. */
export function showRedisUrl(url: string): string {
  const { path, host = 'localhost', port = 6379 } = readConnectionUrl(url)
  return path ?? (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)
}
