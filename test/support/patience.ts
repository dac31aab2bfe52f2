import { vi } from 'vitest'
import { within } from '../../src/core/within.ts'

/**
 * How long a test waits for what has to happen: much longer than it takes, so that no verdict depends on how fast or
 * how busy the machine is. For a promise in seconds that only real time can show, it distinguishes an answer from a hang.
 */
export const PATIENCE_MS = 60_000

/** Resolves with what `check` returns once it throws no more. @throws what it threw last, when patience ends */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: PATIENCE_MS, interval: 10 })
}

/**
 * Settles as `promise` does, and rejects when a timer of `ms` milliseconds fires before: for promises about time that
 * are kept by timers of this process. Whatever delays the one timer delays the other, so only their order is judged.
 */
export function beforeTimer<T>(ms: number, promise: Promise<T>): Promise<T> {
  return within(ms, promise, () => new Error(`expected it to settle before a timer of ${ms} ms`))
}

/** Resolves when so many milliseconds have passed, and not before: timers of Node count from the begin of their turn. */
export async function pass(ms: number): Promise<void> {
  const until = performance.now() + ms
  for (let left = ms; left > 0; left = until - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, left))
  }
}
