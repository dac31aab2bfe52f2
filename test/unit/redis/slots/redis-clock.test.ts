import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../../src/core/virtual-clock.ts'
import { RedisClock } from '../../../../src/redis/slots/redis-clock.ts'
import { FakeStore } from './fake-store.ts'
import { settle } from './gate-stage.ts'

const EPOCH = 1_800_000_000_000_000

class ClockStage {
  readonly clock = new VirtualClock(EPOCH, settle)
  readonly store = new FakeStore(this.clock)
  readonly jumps: number[] = []
  canQuarantine = true
  /** How long it takes to report a jump. */
  reportTakes = 0
  readonly redisClock = new RedisClock({
    clock: this.clock,
    ping: () => this.store.time(),
    onJump: async (by) => {
      this.jumps.push(by)
      const { clock, reportTakes } = this
      if (reportTakes > 0) await new Promise<void>((done) => clock.wake(clock.now() + reportTakes, done))
      if (!this.canQuarantine) throw new Error('not now')
    },
  })

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms * 1_000)
  }

  async open(): Promise<this> {
    this.redisClock.start()
    await this.pass(15)
    return this
  }

  /** How far it is ahead of the store's; below 0: behind. */
  get off(): number {
    return this.redisClock.now() - this.store.now()
  }
}

describe('the clock of the store', () => {
  test('is sound after eight pings, one after the other, and not before', async () => {
    const stage = new ClockStage()
    stage.store.offset = 3_600_000_000
    let soundAt: number | undefined
    stage.redisClock.onSound(() => {
      soundAt = stage.clock.now() - EPOCH
    })
    expect([stage.redisClock.isSound, stage.redisClock.error.ahead]).toEqual([
      false,
      Number.POSITIVE_INFINITY,
    ])
    await stage.open()
    expect([stage.store.calls.length, soundAt, stage.redisClock.isSound]).toEqual([8, 8_000, true])
    expect(Math.abs(stage.off)).toBeLessThanOrEqual(1)
    const { redisClock, store } = stage
    expect(redisClock.toLocal(store.now() + 5_000)).toBeCloseTo(stage.clock.now() + 5_000, -1)
    stage.redisClock.stop()
    expect(stage.redisClock.isSound).toBe(false)
  })

  test('is asked seven times soon, and then once a second, until it is stopped; stopping and starting again is safe', async () => {
    const { redisClock, store, pass } = bound(await new ClockStage().open())
    await pass(1_400)
    expect(store.calls).toHaveLength(15)
    await pass(5_000)
    expect(store.calls).toHaveLength(20)
    redisClock.start()
    await pass(1_000)
    expect(store.calls).toHaveLength(21)
    redisClock.stop()
    redisClock.stop()
    await pass(5_000)
    expect(store.calls).toHaveLength(21)
    redisClock.start()
    await pass(15)
    expect([store.calls.length, redisClock.isSound]).toEqual([29, true])
    redisClock.stop()
  })

  test('that answers slowly at first is known better soon, not only a second later', async () => {
    const stage = new ClockStage()
    stage.store.trip = () => [5_500, 5_500]
    await stage.open()
    await stage.pass(75)
    expect([stage.redisClock.isSound, stage.redisClock.error.ahead]).toEqual([
      true,
      expect.closeTo(5_500, -2),
    ])
    stage.store.trip = () => [50, 50]
    await stage.pass(100)
    expect(stage.redisClock.error.ahead).toBeLessThan(200)
    stage.redisClock.stop()
  })

  test('a ping that fails is tried again, soon while no job may start', async () => {
    const { redisClock, store, pass } = bound(new ClockStage())
    store.isDown = true
    redisClock.start()
    await pass(2_000)
    expect(redisClock.isSound).toBe(false)
    store.isDown = false
    await pass(1_500)
    expect(redisClock.isSound).toBe(true)
    store.isDown = true
    await pass(10_000)
    expect(redisClock.isSound).toBe(true)
    redisClock.stop()
  })

  test.each([60_000_000, -60_000_000, 300_000, -300_000, 200_000, 128_000, 5_000])(
    'that is set by %i us is not sound until the store knows and it was measured again',
    async (by) => {
      const stage = await new ClockStage().open()
      stage.canQuarantine = false
      stage.store.offset += by
      await stage.pass(1_200)
      expect(stage.redisClock.isSound).toBe(false)
      expect(stage.jumps.length).toBeGreaterThan(0)
      for (const jump of stage.jumps) expect(Math.abs(jump - by)).toBeLessThan(3_000)
      stage.canQuarantine = true
      await stage.pass(200)
      expect(stage.redisClock.isSound).toBe(true)
      expect(Math.abs(stage.off)).toBeLessThanOrEqual(1)
      const jumps = stage.jumps.length
      await stage.pass(5_000)
      expect(stage.jumps).toHaveLength(jumps)
      stage.redisClock.stop()
    },
  )

  test('a jump is noticed in the reply of any verb, and replies of the time before it are not heard', async () => {
    const { clock, redisClock, store, jumps } = await new ClockStage().open()
    await clock.advance(100_000)
    const now = clock.now()
    const sentAt = now - 1_000
    store.offset += 500_000
    redisClock.observe({ sentAt, receivedAt: now, storeTime: store.now() - 500 })
    expect(redisClock.isSound).toBe(false)
    redisClock.observe({ sentAt, receivedAt: now, storeTime: now - 500 })
    await clock.advance(200_000)
    expect([redisClock.isSound, jumps.length]).toEqual([true, 1])
    redisClock.stop()
  })

  test.each([
    [48_000, 48_000],
    [60_000_000, 300_000],
    [-300_000, -400_000],
    [-300_000, 350_000],
  ])('set by %i us, and by %i us before it was measured again: both are reported', async (first, second) => {
    const { clock, redisClock, store, jumps } = await new ClockStage().open()
    await clock.advance(100_000)
    const sentAt = clock.now() - 1_000
    store.offset += first
    redisClock.observe({ sentAt, receivedAt: clock.now(), storeTime: store.now() - 500 })
    store.offset += second
    await clock.advance(200_000)
    expect(redisClock.isSound).toBe(true)
    expect(jumps).toHaveLength(2)
    expect(Math.abs(jumps[0]! - first)).toBeLessThan(3_000)
    expect(Math.abs(jumps[1]! - second)).toBeLessThan(8_000)
    expect(Math.sign(second) * (jumps[1]! - second)).toBeGreaterThanOrEqual(0)
    await clock.advance(5_000_000)
    expect(jumps).toHaveLength(2)
    redisClock.stop()
  })

  test.each([
    [48_000, 48_000],
    [-300_000, 350_000],
  ])('set by %i us, and by %i us while that is reported: each is reported once', async (first, second) => {
    const stage = await new ClockStage().open()
    const { clock, redisClock, store, jumps } = stage
    stage.reportTakes = 30_000
    await clock.advance(100_000)
    for (const by of [first, second]) {
      const sentAt = clock.now()
      store.offset += by
      await clock.advance(1_000)
      redisClock.observe({ sentAt, receivedAt: clock.now(), storeTime: store.now() - 500 })
    }
    await clock.advance(200_000)
    expect(redisClock.isSound).toBe(true)
    expect(jumps).toHaveLength(2)
    expect(Math.abs(jumps[0]! - first)).toBeLessThan(3_000)
    expect(Math.abs(jumps[1]! - second)).toBeLessThan(3_000)
    redisClock.stop()
  })

  test('a reply that took long explains what looks like a jump', async () => {
    const { clock, redisClock } = await new ClockStage().open()
    const sentAt = clock.now()
    await clock.advance(3_000_000)
    redisClock.observe({ sentAt, receivedAt: clock.now(), storeTime: sentAt + 100 })
    expect(redisClock.isSound).toBe(true)
    redisClock.stop()
  })

  test('is never further from the truth than it says, whatever round trips there are', async () => {
    const trip = fc.tuple(fc.integer({ min: 50, max: 30_000 }), fc.integer({ min: 50, max: 30_000 }))
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(trip), fc.integer({ min: -400, max: 400 }), async (trips, ppm) => {
        const stage = new ClockStage()
        stage.store.drift = ppm * 1e-6
        stage.store.trip = () => trips.next().value
        stage.redisClock.start()
        await stage.pass(600)
        expect(stage.redisClock.isSound).toBe(true)
        let before = stage.redisClock.now()
        for (let second = 0; second < 8; second++) {
          await stage.pass(997)
          const { ahead, behind } = stage.redisClock.error
          expect(stage.off).toBeLessThanOrEqual(ahead + 2)
          expect(stage.off).toBeGreaterThanOrEqual(-behind - 2)
          expect(stage.redisClock.now()).toBeGreaterThan(before)
          before = stage.redisClock.now()
        }
        expect(stage.jumps).toEqual([])
        stage.redisClock.stop()
      }),
      { numRuns: 30 },
    )
  })
})

/** Methods that keep their stage when they are taken out of it. */
function bound(stage: ClockStage) {
  return { redisClock: stage.redisClock, store: stage.store, pass: (ms: number) => stage.pass(ms) }
}
