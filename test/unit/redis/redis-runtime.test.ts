import { expect, test, vi } from 'vitest'
import { MILLISECOND } from '../../../src/core/duration.ts'
import { reportStep } from '../../../src/redis/redis-runtime.ts'

test.each([
  [128, ['step']],
  [250, ['step']],
  [251, ['jump']],
  [3_600_000, ['jump']],
  [-128, []],
  [-251, ['jump']],
])('a clock of Redis that moved by %d ms is reported as %j', async (ms, reports) => {
  const quarantine = vi.fn(async () => undefined)
  await reportStep({ quarantine } as never, 3, ms * MILLISECOND)
  expect(quarantine.mock.calls).toEqual(reports.map((how) => [3, undefined, how, ms * MILLISECOND]))
})
