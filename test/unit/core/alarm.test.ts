import { expect, test } from 'vitest'
import { Alarm } from '../../../src/core/alarm.ts'
import { VirtualClock } from '../../../src/core/virtual-clock.ts'

async function sleeping(alarm: Alarm, until: number): Promise<{ isAwake: boolean }> {
  const sleeper = { isAwake: false }
  void alarm.sleep(until).then(() => {
    sleeper.isAwake = true
  })
  await Promise.resolve()
  return sleeper
}

test('a sleep ends at its time, and when the alarm rings', async () => {
  const clock = new VirtualClock(0)
  const alarm = new Alarm(clock, 0)
  const first = await sleeping(alarm, 100)
  await clock.advance(99)
  expect(first.isAwake).toBe(false)
  await clock.advance(1)
  expect(first.isAwake).toBe(true)
  const endless = await sleeping(alarm, Number.POSITIVE_INFINITY)
  await clock.advance(1_000_000)
  expect(endless.isAwake).toBe(false)
  alarm.ring()
  await clock.advance(0)
  expect(endless.isAwake).toBe(true)
})

test('a ring before the sleep ends it immediately, until it is reset', async () => {
  const clock = new VirtualClock(0)
  const alarm = new Alarm(clock, 0)
  alarm.ring()
  expect(await sleeping(alarm, 100)).toEqual({ isAwake: true })
  alarm.reset()
  expect(await sleeping(alarm, 100)).toEqual({ isAwake: false })
  expect(await sleeping(alarm, 0)).toEqual({ isAwake: true })
})
