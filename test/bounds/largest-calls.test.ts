import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { startRedis } from '../support/redis-server.ts'
import { LARGEST_CALLS, openStage } from './largest-calls.ts'
import { type Cost, EntryCounter, LOGS_CALLS, timesDuring } from './work.ts'

/** Commands, and entries that they look at: what takes Redis about four milliseconds on one core of a small machine. */
const MOST = 2_500
/** `npm run test:bounds` shows how long each takes; of so many runs the shortest counts. */
const TRIES = process.env['BOUNDS'] === 'long' ? 15 : 0

const costliest = (costs: readonly Cost[], named: string) =>
  Math.max(...costs.filter(({ verb }) => verb === named).map(({ cost }) => cost))

test.each(Object.entries(LARGEST_CALLS))(
  'no call does too much at once: %s',
  { timeout: 0 },
  async (name, { verb, limits, prepare }) => {
    const server = await startRedis({ config: LOGS_CALLS })
    const redis = new Redis(server.url)
    onTestFinished(() => redis.disconnect())
    const scripts = allScripts()
    const stage = await openStage(server.url, redis, limits)
    const act = await prepare(stage)
    const counter = new EntryCounter(redis, scripts)
    const cost = costliest(await counter.during(act), verb)
    await stage.balances()
    expect(cost).toBeGreaterThan(100)
    expect(cost).toBeLessThan(MOST)
    if (TRIES === 0) return
    const times: number[] = []
    for (let n = 0; n < TRIES; n++) {
      const again = await prepare(await openStage(server.url, redis, limits))
      times.push(costliest(await timesDuring(redis, scripts, again), verb))
    }
    console.log(`${name}: ${verb} ${Math.min(...times)} us, ${cost} commands and entries`)
  },
)
