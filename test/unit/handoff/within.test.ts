import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { settlesWithin } from '../../../src/handoff/within.ts'

/** Keeps the event loop from everything else. */
function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('an answer that lies ready counts, however long the turn was in which it came', async () => {
  const answer = stat('.')
  const within = settlesWithin(1, answer)
  block(50)
  expect(await within).toBe(true)
})

test('work that fails has settled; work that goes on has not', async () => {
  expect(await settlesWithin(60_000, Promise.reject(new Error('it failed')))).toBe(true)
  expect(await settlesWithin(1, new Promise(() => undefined))).toBe(false)
})
