import { quote } from '../core/describe.ts'
import type { DemoResult } from './demo.ts'

/** Returns what went wrong in the run with velvet-rope, in full sentences; empty if all is well. */
export function problemsOf({ behind, breaches }: DemoResult): string[] {
  const refusals = behind.accounts
    .filter(({ refused }) => refused > 0)
    .map(
      ({ account, refused, calls }) =>
        `429: ${refused} of ${calls.length} calls of key ${quote(account.key)} were refused by the API`,
    )
  return [...breaches.map(({ law, message }) => `${law}: ${message}`), ...refusals, ...behind.errors]
}
