import type { ClockSample, HistoryRecord } from './history-file.ts'

/**
 * From the store's clock to the host's: what to add to a time of the store. Where the store's clock was set back, two moments
 * have the same time, and what is known of the moment says which of them it was.
 */
export type StoreClock = (storeTime: number, known?: Known) => number

/** What a moment came after, and when a process knew of it; by the host's clock. */
export interface Known {
  readonly after?: number | undefined
  readonly seenAt?: number | undefined
}

/** Which moment is taken where two are as likely. What a process learns of has mostly just happened. */
export type Reading = 'latest' | 'earliest'

/** How far a comparison may be off beside half its round trip; microseconds. */
const NOISE = 1_000

/** @throws Error when the clock of the store was moved and no record says so: then nothing can be said of the order */
export function storeClock(records: readonly HistoryRecord[], reading: Reading = 'latest'): StoreClock {
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
  const { POSITIVE_INFINITY: never } = Number
  return (storeTime, { after = -never, seenAt = never } = {}) => {
    const moments = shifts.map((shift, era) => {
      const at = storeTime + offset - shift
      const from = Math.max(after, moves[era - 1]?.at ?? -never)
      const to = Math.min(seenAt, moves[era]?.at ?? never)
      // A worker whose calls are slow knows the store's time less well than this, and no end is before its start: what
      // contradicts least is taken, since the other moment is off by the whole step.
      return { by: offset - shift, doubt: Math.max(NOISE, from - at, at - to) }
    })
    const least = Math.min(...moments.map(({ doubt }) => doubt))
    const likely = moments.filter(({ doubt }) => doubt === least)
    return likely.at(reading === 'latest' ? -1 : 0)!.by
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
