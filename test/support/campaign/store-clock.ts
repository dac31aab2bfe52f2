import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { monotonicNow } from '../../../src/core/clock.ts'
import type { ClockSample, HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'

const PINGS = 20

/** Compares the clock of a store with the host's, now and every second; resolves after the first comparison. */
export async function watchStoreClock(address: string | undefined, file: HistoryFile): Promise<void> {
  if (address === undefined) {
    file.write({ kind: 'clock', ...(await compare(async () => monotonicNow())) })
    return
  }
  const client = new Redis(address, { maxRetriesPerRequest: null })
  // Faults of the store are the campaign's doing; its time is asked for again when it is back.
  client.on('error', () => undefined)
  const time = async () => {
    const [seconds, microseconds] = await client.time()
    return Number(seconds) * 1_000_000 + Number(microseconds)
  }
  file.write({ kind: 'clock', ...(await compare(time)) })
  let isAsking = false
  const again = async () => {
    if (isAsking) return
    isAsking = true
    // While the store is away or stands still, the answer waits for its return.
    await compare(time).then(
      (sample) => file.write({ kind: 'clock', ...sample }),
      () => undefined,
    )
    isAsking = false
  }
  setInterval(() => void again(), 1_000).unref()
}

/** Of a few questions the one that was answered fastest says most. */
async function compare(time: () => Promise<number>): Promise<ClockSample> {
  let best = { at: 0, store: 0, roundTrip: Number.POSITIVE_INFINITY }
  for (let ping = 0; ping < PINGS; ping++) {
    const sent = hostNow()
    const store = await time()
    const roundTrip = hostNow() - sent
    if (roundTrip < best.roundTrip) best = { at: sent + roundTrip / 2, store, roundTrip }
    await sleep(1)
  }
  return best
}
