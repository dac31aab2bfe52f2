import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClockSample, Offset } from '../../../../src/redis/slots/offset.ts'

const EPOCH = 1_800_000_000_000_000
/** Steps of a double at epoch microseconds. */
const ROUNDING = 2

const trips = fc.array(
  fc.record({
    pause: fc.integer({ min: 0, max: 3_000_000 }),
    there: fc.integer({ min: 0, max: 40_000 }),
    back: fc.integer({ min: 0, max: 40_000 }),
  }),
  { minLength: 1, maxLength: 80 },
)

interface Trip {
  readonly pause: number
  readonly there: number
  readonly back: number
}

/** The samples of a store whose clock is ahead by `ahead(local)`. */
function* samplesOf(all: readonly Trip[], ahead: (local: number) => number): Generator<ClockSample> {
  let local = EPOCH
  for (const { pause, there, back } of all) {
    const sentAt = local + pause
    const readAt = sentAt + there
    local = readAt + back
    yield { sentAt, receivedAt: local, storeTime: readAt + ahead(readAt) }
  }
}

describe('the offset of two clocks that drift', () => {
  const drifting = fc.tuple(
    fc.integer({ min: -1e9, max: 1e9 }),
    fc.integer({ min: -500, max: 500 }).map((ppm) => ppm * 1e-6),
    trips,
  )

  test('is never further from the truth than it says', () => {
    fc.assert(
      fc.property(drifting, ([ahead, drift, all]) => {
        const truth = (local: number) => ahead + (local - EPOCH) * drift
        let offset: Offset | undefined
        for (const sample of samplesOf(all, truth)) {
          // Clocks that drift are no clocks that are stepped.
          expect(Math.abs(offset?.unexplained(sample).least ?? 0)).toBeLessThan(2_000)
          if (offset === undefined) offset = new Offset(sample)
          else offset.add(sample)
          for (const later of [0, 1_000, 250_000, 5_000_000]) {
            const at = sample.receivedAt + later
            const off = offset.at(at) - truth(at)
            const { ahead, behind } = offset.errorAt(at)
            expect(off).toBeLessThanOrEqual(ahead + ROUNDING)
            expect(off).toBeGreaterThanOrEqual(-behind - ROUNDING)
          }
        }
      }),
    )
  })

  /** The store may also be set forwards in the middle. */
  const moved = fc
    .tuple(drifting, fc.integer({ min: 0, max: 80 }), fc.integer({ min: 0, max: 5_000 }))
    .map(([[ahead, drift, all], after, by]) => {
      const movedAt = EPOCH + all.slice(0, after).reduce((sum, trip) => sum + trip.pause, 0)
      return [...samplesOf(all, (local) => ahead + (local - EPOCH) * drift + (local > movedAt ? by : 0))]
    })

  test('goes ahead by at most a millisecond a second, but for what was counted as its error, and only where that is large', () => {
    fc.assert(
      fc.property(moved, ([first, ...samples]) => {
        const offset = new Offset(first!)
        let last = { at: first!.receivedAt, value: offset.at(first!.receivedAt) }
        for (const sample of samples) {
          const at = sample.receivedAt
          const value = offset.at(at)
          const { behind } = offset.errorAt(at)
          expect(value - last.value).toBeLessThanOrEqual((at - last.at) * 1e-3 + ROUNDING)
          offset.add(sample)
          const isFarOff = sample.storeTime - sample.receivedAt - value > 1_000
          expect(offset.at(at) - value).toBeLessThanOrEqual(isFarOff ? behind + ROUNDING : 0)
          last = { at, value: offset.at(at) }
        }
      }),
      { numRuns: 300 },
    )
  })

  test('goes ahead of what was counted as its error by a millisecond a second, however often it steps', () => {
    fc.assert(
      fc.property(moved, ([first, ...samples]) => {
        const offset = new Offset(first!)
        // How late a start of that time may have been reported.
        const latest = (at: number) => ({ at, value: offset.at(at) + offset.errorAt(at).behind })
        const reported = [latest(first!.receivedAt)]
        for (const sample of samples) {
          const at = sample.receivedAt
          offset.add(sample)
          for (const before of reported) {
            expect(offset.at(at)).toBeLessThanOrEqual(before.value + (at - before.at) * 1e-3 + ROUNDING)
          }
          reported.push(latest(at))
        }
      }),
      { numRuns: 300 },
    )
  })

  test('that is surely far behind is not far behind for long', () => {
    // The way back took all of 11 ms.
    const offset = new Offset({ sentAt: EPOCH, receivedAt: EPOCH + 11_000, storeTime: EPOCH })
    expect(offset.errorAt(EPOCH + 11_000).behind).toBeCloseTo(5_505.5, 0)
    offset.add({ sentAt: EPOCH + 20_000, receivedAt: EPOCH + 20_100, storeTime: EPOCH + 20_050 })
    expect(offset.errorAt(EPOCH + 20_100)).toEqual({
      ahead: expect.closeTo(50, 0),
      behind: expect.closeTo(50, 0),
    })
  })

  test('an even round trip that was shorter than any before says it best', () => {
    const offset = new Offset({
      sentAt: EPOCH,
      receivedAt: EPOCH + 40_000,
      storeTime: EPOCH + 40_000 + 7_000,
    })
    offset.step()
    expect(offset.errorAt(EPOCH + 40_000).ahead).toBeCloseTo(20_020, 0)
    offset.add({ sentAt: EPOCH + 50_000, receivedAt: EPOCH + 50_200, storeTime: EPOCH + 50_100 + 7_000 })
    offset.step()
    expect(offset.at(EPOCH + 50_200)).toBe(7_000)
    expect(offset.errorAt(EPOCH + 50_200).behind).toBeCloseTo(100, 0)
    offset.add({ sentAt: EPOCH + 60_000, receivedAt: EPOCH + 90_000, storeTime: EPOCH + 60_000 + 7_000 })
    expect(offset.at(EPOCH + 90_000)).toBe(7_000)
  })
})

describe("a store's clock that is moved a little", () => {
  const at = (local: number, ahead: number): ClockSample => ({
    sentAt: local,
    receivedAt: local + 200,
    storeTime: local + 100 + ahead,
  })

  test('forwards is followed slowly: no gap between two starts becomes shorter than was counted on', () => {
    const offset = new Offset(at(EPOCH, 0))
    const later = EPOCH + 1_000_000
    const { least, most } = offset.unexplained(at(later, 100_000))
    expect([least > 99_000, least < 100_000, most > 100_000, most < 102_000]).toEqual([
      true,
      true,
      true,
      true,
    ])
    offset.add(at(later, 100_000))
    // Half of the round trip, and the drift since.
    expect(offset.at(later + 200)).toBeCloseTo(600, 0)
    expect(offset.at(later + 200 + 10_000_000)).toBeCloseTo(10_600, 0)
    expect(offset.errorAt(later + 200)).toEqual({ ahead: 0, behind: expect.closeTo(99_500, 0) })
  })

  test('forwards is followed no faster after a second sample: what started before the first was reported by the offset of before', () => {
    const offset = new Offset(at(EPOCH, 0))
    offset.add(at(EPOCH + 100_000, 1_800))
    const first = offset.at(EPOCH + 100_200)
    // Half of the round trip, and the drift since.
    expect(first).toBeCloseTo(150, 0)
    offset.add({ sentAt: EPOCH + 110_000, receivedAt: EPOCH + 110_100, storeTime: EPOCH + 110_050 + 1_800 })
    expect(offset.at(EPOCH + 110_100)).toBeCloseTo(first + 10, 0)
    expect(offset.at(EPOCH + 2_110_100)).toBe(1_800)
  })

  test('backwards is followed immediately: starts only become later', () => {
    const offset = new Offset(at(EPOCH, 0))
    const later = EPOCH + 1_000_000
    offset.add(at(later, -100_000))
    expect(offset.at(later + 200)).toBe(-100_000)
    expect(offset.errorAt(later + 200).ahead).toBeCloseTo(100, 0)
  })
})
