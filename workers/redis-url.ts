import { InvalidOptionsError } from '../src/core/errors.ts'
import { readConnectionUrl } from '../src/redis/connection/connection-url.ts'

/**
 * @param what names it in the message: `--redis`, `REDIS_URL`
 * @throws InvalidOptionsError when it is absent or none; its password shows up in no message
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

/** Where it is, without user and password. */
export function showRedisUrl(url: string): string {
  const { path, host = 'localhost', port = 6379 } = readConnectionUrl(url)
  return path ?? (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)
}
