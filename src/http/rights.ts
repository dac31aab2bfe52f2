import { quote } from '../core/describe.ts'
import { isUnder } from '../core/key.ts'
import type { Principal } from './access.ts'
import { Problem } from './problem.ts'
import type { Scope } from './wire.ts'

/** Whether it is a token of the operator: it may do everything, with every key. */
export function hasEveryRight({ scopes, prefixes }: Principal): boolean {
  return prefixes.length === 0 && scopes.includes('admin')
}

/** @throws Problem 403 */
export function assertScope({ scopes }: Principal, scope: Scope): void {
  if (scopes.includes(scope) || scopes.includes('admin')) return
  throw new Problem(
    'forbidden',
    { detail: `expected a token with the scope ${scope}, got: ${scopes.join(', ')}` },
    { 'WWW-Authenticate': `Bearer realm="velvet-rope", error="insufficient_scope", scope="${scope}"` },
  )
}

/** Whether the key is one of the prefixes or lies below one; whole segments count. */
export function isWithin(prefixes: readonly string[], key: string): boolean {
  return prefixes.length === 0 || prefixes.some((prefix) => isUnder(key, prefix))
}

/** For answers about all keys together. @throws Problem 403 */
export function assertEveryKey({ prefixes }: Principal, what: string): void {
  if (prefixes.length === 0) return
  throw new Problem('forbidden', {
    detail: `expected a token for every key to read ${what}, got one with prefixes`,
  })
}

/** @throws Problem 403, which does not reveal whether the key exists */
export function assertWithin({ prefixes }: Pick<Principal, 'prefixes'>, key: string, what = 'key'): void {
  if (isWithin(prefixes, key)) return
  throw new Problem('forbidden', {
    detail: `expected a ${what} within ${prefixes.map(quote).join(' or ')}, got: ${quote(key)}`,
  })
}
