import { quote } from '../core/describe.ts'
import type { DemoResult } from './demo.ts'

/** What must not have happened behind the rope and did, in whole sentences; empty when all went well. */
export function problemsOf({ behind, breaches }: DemoResult): string[] {
  const refusals = behind.accounts
    .filter(({ refused }) => refused > 0)
    .map(
      ({ account, refused, calls }) =>
        `429: ${refused} of ${calls.length} calls of key ${quote(account.key)} were refused by the API`,
    )
  return [...breaches.map(({ law, message }) => `${law}: ${message}`), ...refusals, ...behind.errors]
}
