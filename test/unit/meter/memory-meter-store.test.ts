import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { HOUR, MILLISECOND, SECOND } from '../../../src/core/duration.ts'
import { VirtualClock } from '../../../src/core/virtual-clock.ts'
import { MemoryMeterStore } from '../../../src/meter/memory-meter-store.ts'

const LIMIT = { capacity: 10, interval: SECOND, clamp: false, block: 0 }
const fillOf = (key: string, amount = 1) => ({ name: 'test', key, amount, ...LIMIT })

/** A clock that counts the timers that are set, and all that ever were. */
class CountingClock implements Clock {
  readonly #clock = new VirtualClock(1_000 * SECOND)
  timers = 0
  set = 0

  now(): number {
    return this.#clock.now()
  }

  wake(at: number, callback: () => void): () => void {
    this.timers++
    this.set++
    let isSet = true
    const end = () => {
      if (isSet) this.timers--
      isSet = false
    }
    const cancel = this.#clock.wake(at, () => {
      end()
      callback()
    })
    return () => {
      end()
      cancel()
    }
  }

  advance(duration: number): Promise<void> {
    return this.#clock.advance(duration)
  }
}

test('an empty level is deleted, and one timer is set while others exist', async () => {
  const clock = new CountingClock()
  const store = new MemoryMeterStore(clock)
  expect(clock.timers).toBe(0)
  for (let n = 0; n < 100; n++) await store.fill(fillOf(`k${n}`, 1 + (n % 5)))
  expect(store.size).toBe(100)
  expect(clock.timers).toBe(1)
  await clock.advance(3.5 * SECOND)
  expect(store.size).toBe(40)
  expect(clock.timers).toBe(1)
  await clock.advance(3 * SECOND)
  expect(store.size).toBe(0)
  expect(clock.timers).toBe(0)
})

test('a level that is filled again, or blocked, is kept', async () => {
  const clock = new CountingClock()
  const store = new MemoryMeterStore(clock)
  await store.fill(fillOf('blocked', 1))
  await store.fill({ ...fillOf('blocked', 10), block: HOUR })
  for (let n = 0; n < 20; n++) {
    await store.fill(fillOf('busy', 1))
    await clock.advance(0.9 * SECOND)
  }
  expect(store.size).toBe(2)
  await clock.advance(10 * SECOND)
  expect(store.size).toBe(1)
  await clock.advance(HOUR)
  expect(store.size).toBe(0)
  expect(clock.timers).toBe(0)
  // Once a second, not once a fill.
  expect(clock.set).toBeLessThan(40)
})

test('a fill that changes nothing stores nothing', async () => {
  const clock = new CountingClock()
  const store = new MemoryMeterStore(clock)
  await store.fill(fillOf('k', 0))
  await store.fill(fillOf('k', 11))
  await store.read({ name: 'test', key: 'k' })
  expect([store.size, clock.timers]).toEqual([0, 0])
})

test('a fill that does not go in deletes an expired level, too', async () => {
  let now = 1_000 * SECOND
  const store = new MemoryMeterStore({ now: () => now, wake: () => () => undefined })
  store.fill(fillOf('k', 5))
  now += 5 * SECOND
  expect(store.fill(fillOf('k', 0)).accepted).toBe(true)
  expect(store.size).toBe(1)
  now += 1
  expect(store.fill(fillOf('k', 0)).state).toEqual({ level: 0, at: 0, blockedUntil: 0, interval: 0 })
  expect(store.size).toBe(0)
})

test('drained or closed, it has no timer', async () => {
  const clock = new CountingClock()
  const store = new MemoryMeterStore(clock)
  await store.fill(fillOf('a'))
  await store.fill(fillOf('b'))
  await store.drain({ name: 'test', key: 'a' })
  expect([store.size, clock.timers]).toEqual([1, 1])
  await store.drain({ name: 'test', key: 'b' })
  await store.drain({ name: 'test', key: 'b' })
  expect([store.size, clock.timers]).toEqual([0, 0])
  await store.fill(fillOf('a'))
  await store.close()
  await store.close()
  expect([store.size, clock.timers]).toEqual([0, 0])
})

test('a later level that expires earlier moves the timer', async () => {
  const clock = new CountingClock()
  const store = new MemoryMeterStore(clock)
  await store.fill({ ...fillOf('long'), interval: HOUR })
  await store.fill(fillOf('short'))
  expect(clock.timers).toBe(1)
  await clock.advance(2.5 * SECOND)
  expect(store.size).toBe(1)
})

test('one-time keys are deleted as fast as they are added, even if timers are delayed', async () => {
  let now = 0
  const clock: Clock = { now: () => now, wake: () => () => undefined }
  const store = new MemoryMeterStore(clock)
  let most = 0
  for (let n = 0; n < 100_000; n++) {
    now += MILLISECOND
    await store.fill({ ...fillOf(`ip/${n}`), interval: 100 * MILLISECOND })
    most = Math.max(most, store.size)
  }
  expect(most).toBeLessThanOrEqual(102)
})

test('many levels that expire together are deleted a thousand at a time', async () => {
  let now = 0
  const wishes: { at: number; callback: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    wake: (at, callback) => {
      wishes.push({ at, callback })
      return () => undefined
    },
  }
  const store = new MemoryMeterStore(clock)
  for (let n = 0; n < 2_500; n++) await store.fill(fillOf(`k${n}`))
  now = 2 * SECOND
  const sizes: number[] = []
  while (wishes.length > 0) {
    const { at, callback } = wishes.shift()!
    expect(at).toBeLessThanOrEqual(now)
    callback()
    sizes.push(store.size)
  }
  expect(sizes).toEqual([1_500, 500, 0])
})

test('its timer does not keep the process alive', async () => {
  const timersBefore = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const store = new MemoryMeterStore(systemClock)
  await store.fill({ ...fillOf('k'), interval: HOUR })
  expect(store.size).toBe(1)
  // Those that were unref'd are not among them.
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  expect(timers).toBe(timersBefore)
  await store.close()
})

test('levels count as use of the heap by the first segment of their keys, until they are gone', async () => {
  const clock = new CountingClock()
  const store = new MemoryMeterStore(clock)
  for (const key of ['a/1', 'a/2', 'b/1']) await store.fill(fillOf(key))
  await store.fill({ ...fillOf('a/1'), name: 'another meter' })
  expect(store.use.of('b')).toBeGreaterThan(0)
  expect(store.use.of('a')).toBe(3 * store.use.of('b'))
  await store.drain({ name: 'test', key: 'a/1' })
  expect(store.use.of('a')).toBe(2 * store.use.of('b'))
  await clock.advance(5 * SECOND)
  expect(store.use.sum().segments).toBe(0)
  await store.fill(fillOf('a/1'))
  await store.close()
  expect([store.use.sum().segments, store.size]).toEqual([0, 0])
})
