import { expect, test } from 'vitest'
import { VirtualClock } from '../../../src/core/virtual-clock.ts'

const settle = () => Promise.resolve()

test('it only moves when advanced', async () => {
  const clock = new VirtualClock(5)
  expect(clock.now()).toBe(5)
  await clock.advance(10)
  expect(clock.now()).toBe(15)
  await clock.advanceTo(3)
  expect(clock.now()).toBe(15)
})

test('it starts at 0 and makes each call at its instant, in order', async () => {
  const clock = new VirtualClock()
  const woken: [string, number][] = []
  const note = (name: string) => () => void woken.push([name, clock.now()])
  clock.wake(20, note('late'))
  clock.wake(10, note('first'))
  clock.wake(10, note('second'))
  clock.wake(31, note('never'))
  await clock.advance(30)
  expect(woken).toEqual([
    ['first', 10],
    ['second', 10],
    ['late', 20],
  ])
  expect(clock.now()).toBe(30)
})

test('a call can be cancelled, also by an earlier call', async () => {
  const clock = new VirtualClock(0, settle)
  const woken: string[] = []
  const cancel = clock.wake(10, () => void woken.push('cancelled'))
  clock.wake(5, cancel)
  cancel()
  await clock.advance(20)
  expect(woken).toEqual([])
})

test('a call for the past is made now, without going back', async () => {
  const clock = new VirtualClock(100, settle)
  let at = 0
  clock.wake(10, () => {
    at = clock.now()
  })
  await clock.advance(0)
  expect(at).toBe(100)
})

test('a callback may schedule another call before time goes on', async () => {
  const clock = new VirtualClock(0, settle)
  const ticks: number[] = []
  const tick = () => {
    ticks.push(clock.now())
    clock.wake(clock.now() + 10, tick)
  }
  clock.wake(10, tick)
  await clock.advance(35)
  expect(ticks).toEqual([10, 20, 30])
})

test('sleep resolves when its time has passed', async () => {
  const clock = new VirtualClock()
  const slept: number[] = []
  void (async () => {
    await clock.sleep(7)
    slept.push(clock.now())
    await clock.sleep(5)
    slept.push(clock.now())
  })()
  await clock.advance(20)
  expect(slept).toEqual([7, 12])
})
