import { expect, test } from 'vitest'
import { VirtualClock } from '../../../../src/core/virtual-clock.ts'
import { Sweeping } from '../../../../src/redis/scheduler/sweeping.ts'

const S = 1_000_000

test('a sweep comes each two seconds, immediately after one that removed something, and later after one that failed', async () => {
  const clock = new VirtualClock(1_000 * S)
  const removes: (number | Error)[] = [0, 200, 3, 0, new Error('away'), 0]
  let sweeps = 0
  const sweeping = new Sweeping(async () => {
    const removed = removes[sweeps++]!
    if (removed instanceof Error) throw removed
    return removed
  }, clock)
  const goOn = async (seconds: number) => {
    await clock.advance(seconds * S)
    await sweeping.goOn()
    return sweeps
  }
  expect(await goOn(0)).toBe(1)
  expect(await goOn(1.9)).toBe(1)
  expect(await goOn(0.1)).toBe(2)
  expect(await goOn(0)).toBe(3)
  expect(await goOn(0)).toBe(4)
  expect(await goOn(0)).toBe(4)
  await expect(goOn(2)).rejects.toThrow('away')
  expect(await goOn(1)).toBe(5)
  expect(await goOn(1)).toBe(6)
  await new Sweeping(undefined, clock).goOn()
})
