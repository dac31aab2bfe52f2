import { expect, test } from 'vitest'
import { retryDelay } from '../../../../src/redis/connection/retry-delay.ts'

const MS = 1_000

test('a store that fails is left alone for 50 ms to a second, up to half of it by chance', () => {
  const failures = [1, 2, 3, 4, 5, 6, 1_000]
  expect(failures.map((count) => retryDelay(count, 0))).toEqual(
    [50, 100, 200, 400, 800, 1_000, 1_000].map((ms) => ms * MS),
  )
  expect(retryDelay(9, 1)).toBe(500 * MS)
})
