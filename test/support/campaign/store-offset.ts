import type { ClockSample, HistoryRecord } from './history-file.ts'

/**
 * From the store's clock to the host's: what to add to a time of the store. `seenAt`, by the host's clock, is when a process
 * knew of it: where the store's clock was set back, two moments have the same time.
 */
export type StoreClock = (storeTime: number, seenAt?: number) => number

/** How far a comparison may be off beside half its round trip; microseconds. */
const NOISE = 1_000

/** @throws Error when the clock of the store was moved and no record says so: then nothing can be said of the order */
export function storeClock(records: readonly HistoryRecord[]): StoreClock {
  const moves = records.filter((record) => record.kind === 'moved').sort((a, b) => a.at - b.at)
  /** By how much it had been moved in all, from the beginning and after each move. */
  const shifts = [0]
  for (const { by } of moves) shifts.push(shifts.at(-1)! + by)
  const eraAt = (at: number) => moves.filter((move) => move.at <= at).length
  const samples = records.filter((record) => record.kind === 'clock')
  const still = samples.filter(({ at, roundTrip }) =>
    moves.every((move) => Math.abs(move.at - at) > roundTrip + NOISE),
  )
  const offset = unmovedOffset(
    still.map((sample) => ({ ...sample, store: sample.store - shifts[eraAt(sample.at)]! })),
  )
  if (moves.length === 0) return () => offset
  return (storeTime, seenAt = Number.POSITIVE_INFINITY) => {
    let found = offset - shifts[0]!
    for (const [era, shift] of shifts.entries()) {
      const at = storeTime + offset - shift
      const from = moves[era - 1]?.at ?? Number.NEGATIVE_INFINITY
      const to = moves[era]?.at ?? Number.POSITIVE_INFINITY
      // The latest moment that fits: what a process learns of has mostly just happened.
      if (at >= from - NOISE && at <= to + NOISE && at <= seenAt + NOISE) found = offset - shift
    }
    return found
  }
}

function unmovedOffset(samples: readonly ClockSample[]): number {
  const [best] = samples.toSorted((a, b) => a.roundTrip - b.roundTrip)
  if (best === undefined) throw new Error('expected a comparison of the clocks in the records, got none')
  const offset = best.at - best.store
  for (const { at, store, roundTrip } of samples) {
    const apart = Math.abs(at - store - offset)
    if (apart <= (roundTrip + best.roundTrip) / 2 + NOISE) continue
    throw new Error(
      `the clock of the store was moved against the host's by ${apart} us: the run says nothing`,
    )
  }
  return offset
}
