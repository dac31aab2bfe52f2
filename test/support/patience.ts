import { vi } from 'vitest'

/**
 * How long a test waits for what has to happen: much longer than it takes, so that no verdict depends on how fast or
 * how busy the machine is. For a promise in seconds that only real time can show, it tells an answer from a hang.
 */
export const PATIENCE_MS = 60_000

/** Resolves with what `check` returns once it throws no more. @throws what it threw last, when patience ends */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: PATIENCE_MS, interval: 10 })
}
