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

  test('goes ahead by at most a millisecond a second, so that no gap is shortened by more than a thousandth', () => {
    fc.assert(
      fc.property(drifting, ([ahead, drift, all]) => {
        let offset: Offset | undefined
        let before: { at: number; value: number } | undefined
        for (const sample of samplesOf(all, (local) => ahead + (local - EPOCH) * drift)) {
          if (offset === undefined) offset = new Offset(sample)
          else offset.add(sample)
          const at = sample.receivedAt
          const value = offset.at(at)
          if (before !== undefined) {
            expect(value - before.value).toBeLessThanOrEqual((at - before.at) * 1e-3 + ROUNDING)
          }
          before = { at, value }
        }
      }),
    )
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

  test('forwards is followed slowly: no gap between two starts becomes much shorter', () => {
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
    expect(offset.at(later + 200)).toBe(0)
    expect(offset.at(later + 200 + 10_000_000)).toBe(10_000)
    expect(offset.errorAt(later + 200)).toEqual({ ahead: 0, behind: expect.closeTo(100_100, 0) })
  })

  test('backwards is followed immediately: starts only become later', () => {
    const offset = new Offset(at(EPOCH, 0))
    const later = EPOCH + 1_000_000
    offset.add(at(later, -100_000))
    expect(offset.at(later + 200)).toBe(-100_000)
    expect(offset.errorAt(later + 200).ahead).toBeCloseTo(100, 0)
  })
})
