import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { DEEP_VERBS, type DeepLines, openDeepLines } from '../support/deep-verbs.ts'
import { startRedis } from '../support/redis-server.ts'

const LONGEST_US = 5_000
/** The system may take the processor away from Redis in the middle of a script; not each time. */
const TRIES = 20
/** A machine that is too busy for 5 ms is too busy on a short line, too: there a script may take that many times as long. */
const AS_LONG = 5

const entries = z.array(z.tuple([z.number(), z.number(), z.number(), z.array(z.string())]).rest(z.unknown()))

/** The longest script of a call, in microseconds, by SLOWLOG. */
async function slowest({ stage }: DeepLines, call: () => Promise<unknown>): Promise<number> {
  await stage.redis.call('SLOWLOG', 'RESET')
  await call()
  const logged = entries.parse(await stage.redis.call('SLOWLOG', 'GET', '1000'))
  const scripts = logged.filter(([, , , [name]]) => name!.toLowerCase().startsWith('eval'))
  return Math.max(0, ...scripts.map(([, , us]) => us))
}

/** The least of several tries; no more of them than it takes to be short. */
async function leastOf(lines: DeepLines, verb: (lines: DeepLines) => Promise<unknown>): Promise<number> {
  // Loads the script.
  await verb(lines)
  let least = Number.POSITIVE_INFINITY
  for (let n = 0; n < TRIES && least >= LONGEST_US; n++) {
    least = Math.min(least, await slowest(lines, () => verb(lines)))
  }
  return least
}

test('with a million jobs in one line and 300,000 in another, no script takes 5 ms', {
  timeout: 900_000,
}, async () => {
  const server = await startRedis({ config: { 'slowlog-log-slower-than': '0', 'slowlog-max-len': '1000' } })
  const client = new Redis(server.url)
  onTestFinished(async () => {
    client.disconnect()
    await server.stop()
  })
  const deep = await openDeepLines(server.url, client, 1_000_000, 300_000)
  const short = await openDeepLines(server.url, client, 10_000, 10_000)
  const durations: string[] = []
  const slow: string[] = []
  for (const [name, verb] of Object.entries(DEEP_VERBS)) {
    const least = await leastOf(deep, verb)
    durations.push(`${name}: ${least} us`)
    const isShort = least < LONGEST_US || least < AS_LONG * (await leastOf(short, verb))
    if (!isShort) slow.push(durations.at(-1)!)
  }
  console.log(durations.join('\n'))
  expect(slow).toEqual([])
  await deep.stage.balances()
})
