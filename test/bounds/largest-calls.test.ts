import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { startRedis } from '../support/redis-server.ts'
import { FILLED_CALLS, LARGEST_CALLS, openStage, PARTS_CALLS } from './largest-calls.ts'
import { type Cost, EntryCounter, LOGS_CALLS, timesDuring, type Work } from './work.ts'

/** Commands, and entries that they look at: what takes Redis about four milliseconds on one core of a small machine. */
const MOST = 2_500
/** `npm run test:bounds` shows how long each takes; of so many runs the shortest counts. */
const TRIES = process.env['BOUNDS'] === 'long' ? 15 : 0

/** To unpack or pack so many bytes of what a quota counts takes as long as a command. */
const BYTES_PER_COMMAND = 250

const withPacked = ({ verb, cost, packed }: Work): Cost => ({ verb, cost: cost + packed / BYTES_PER_COMMAND })

const costliest = (costs: readonly Cost[], named: string) =>
  Math.max(...costs.filter(({ verb }) => verb === named).map(({ cost }) => cost))

test.each(Object.entries({ ...LARGEST_CALLS, ...PARTS_CALLS, ...FILLED_CALLS }))(
  'no call does too much at once: %s',
  { timeout: 0 },
  async (name, call) => {
    const { verb, prepare } = call
    const server = await startRedis({ config: LOGS_CALLS })
    const redis = new Redis(server.url)
    onTestFinished(() => redis.disconnect())
    const scripts = allScripts()
    const stage = await openStage(server.url, redis, call)
    const act = await prepare(stage)
    const counter = new EntryCounter(redis, scripts)
    const cost = costliest((await counter.during(act)).map(withPacked), verb)
    await stage.balances()
    expect(cost).toBeGreaterThan(100)
    expect(cost).toBeLessThan(MOST)
    if (TRIES === 0) return
    const times: number[] = []
    for (let n = 0; n < TRIES; n++) {
      const again = await prepare(await openStage(server.url, redis, call))
      times.push(costliest(await timesDuring(redis, scripts, again), verb))
    }
    console.log(`${name}: ${verb} ${Math.min(...times)} us, ${cost} commands and entries`)
  },
)
