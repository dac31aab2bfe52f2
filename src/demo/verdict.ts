import type { Breach } from '../conformance/history.ts'
import { quote } from '../core/describe.ts'
import type { DemoResult } from './demo.ts'

/** Returns what went wrong in the run with velvet-rope, in full sentences; empty if all is well. */
export function problemsOf({ behind, breaches, tenants }: DemoResult): string[] {
  const accounts = [...behind.accounts.map(({ account, calls }) => ({ key: account.key, calls })), ...tenants]
  const refusals = accounts.flatMap(({ key, calls }) => {
    const refused = calls.filter(({ isRefused }) => isRefused).length
    return refused === 0
      ? []
      : [`429: ${refused} of ${calls.length} calls of key ${quote(key)} were refused by the API`]
  })
  return [
    ...breachesOf({ breaches, tenants }).map(({ law, message }) => `${law}: ${message}`),
    ...refusals,
    ...errorsOf({ behind, tenants }),
  ]
}

export function breachesOf({
  breaches,
  tenants,
}: Pick<DemoResult, 'breaches' | 'tenants'>): readonly Breach[] {
  return [...breaches, ...tenants.flatMap((log) => log.breaches)]
}

export function errorsOf({ behind, tenants }: Pick<DemoResult, 'behind' | 'tenants'>): readonly string[] {
  return [...behind.errors, ...tenants.flatMap(({ errors }) => errors)]
}
