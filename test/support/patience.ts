import { afterEach, beforeEach, vi } from 'vitest'
import { isVelvetRopeError } from '../../src/core/errors.ts'
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
 * Settles as the first call does that reaches Redis. A call gives up after two seconds, in which a busy machine may not
 * have opened a line of many shards; nothing was changed then.
 */
export function reached<T>(call: () => Promise<T>): Promise<T> {
  const settled = () =>
    call().then(
      (value) => () => value,
      (error: unknown) => {
        if (isVelvetRopeError(error, 'backend-unavailable')) throw error
        return () => {
          throw error
        }
      },
    )
  return eventually(settled).then((settle) => settle())
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

/** In the tests around the call no request is given up, however late a busy machine answers: they judge the answers. */
export function waitForEachAnswer(): void {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())
}
