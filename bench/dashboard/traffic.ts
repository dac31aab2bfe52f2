import { Shaper } from '../../dist/src/index.js'
import { type HouseOrder, INTERVAL_MS, LIMIT, NAME } from './order.ts'

const EVERY_MS = 100
const FIRST = 6
const PER_CALL = 1_000

/** A shaper with so many buckets that change all the time: arrivals come in bursts, and just as many depart. */
export async function openTraffic({ socket, keys }: HouseOrder): Promise<Shaper> {
  const connection = socket === '' ? {} : { connection: `unix://${socket}` }
  const shaper = new Shaper(NAME, { limits: { '*': LIMIT }, ...connection })
  await shaper.ready()
  const job = (index: number) => ({ key: `tenant-${index % keys}/calls`, data: 0 })
  for (let from = 0; from < FIRST * keys; from += PER_CALL) {
    await shaper.enqueueMany(Array.from({ length: PER_CALL }, (_, n) => job(from + n)))
  }
  shaper.work(() => undefined)
  const perTick = (keys / INTERVAL_MS) * EVERY_MS
  const come = () => {
    const burst = Math.round(2 * perTick * Math.random())
    const jobs = Array.from({ length: burst }, () => job(Math.floor(keys * Math.random())))
    if (burst > 0) void shaper.enqueueMany(jobs)
  }
  setInterval(come, EVERY_MS)
  return shaper
}
