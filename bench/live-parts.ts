import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { Shaper } from '../src/index.ts'
import { heapInUse } from './heap.ts'
import { RedisInfo } from './redis/info.ts'
import { startRedis } from './redis/server.ts'

/**
 * What live buckets with two quotas take, and what departures cost beside them: `tsx bench/live-parts.ts`. Each bucket has let one
 * job start, and must remember that. On Redis the first bucket is copied under the other keys, so that a million need no hour.
 */
const { values: flags } = parseArgs({
  options: {
    where: { type: 'string', default: 'memory,redis' },
    buckets: { type: 'string', default: '1000000' },
    /** One trial: the further parts of the limit. */
    trial: { type: 'string' },
  },
})

const LIMITS = { 'a pace alone': '', 'two quotas': ', 1000 per 6 hours, 90000 tokens/day 10 each' } as const
const DEPARTURES = { memory: 50_000, redis: 4_000 } as const
const COPIED_AT_ONCE = 2_000

/** Copies what is kept of the bucket `0` under other keys, which are numbers. */
const COPY = `
  for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
    for _, name in ipairs({ 'buckets', 'quotas' }) do
      local kept = redis.call('HGET', KEYS[1] .. ':' .. name, '0')
      if kept then redis.call('HSET', KEYS[1] .. ':' .. name, n, kept) end
    end
    for _, name in ipairs({ 'idle', 'fill' }) do
      redis.call('ZADD', KEYS[1] .. ':' .. name, redis.call('ZSCORE', KEYS[1] .. ':' .. name, '0'), n)
    end
  end`

interface Cost {
  /** Bytes of each bucket. */
  readonly bytes: number
  /** Microseconds of this process and of Redis, for an admission with its departure: alone, and beside the others. */
  readonly alone: number
  readonly beside: number
}

async function trial(where: 'memory' | 'redis', parts: string): Promise<Cost> {
  const buckets = Number(flags.buckets)
  const server = where === 'redis' ? await startRedis() : undefined
  const info = server && new RedisInfo(server.address)
  const shaper = new Shaper<number>('bench', {
    limits: { '*': `1000, 1 per 6 hours${parts}` },
    jobDefaults: { keepFinished: 0 },
    ...(server && { connection: `unix://${server.address}` }),
  })
  let open = 0
  let isEmpty: () => void = () => undefined
  shaper.on('completed', () => --open === 0 && isEmpty())
  shaper.work(() => 0, { concurrency: 1_000 })
  await shaper.ready()
  /** Lets one job of each key start, and returns when all have ended. */
  const departFrom = async (prefix: string, count: number) => {
    for (let first = 0; first < count; first += 1_000) {
      const keys = Array.from({ length: Math.min(1_000, count - first) }, (_, n) => `${prefix}${first + n}`)
      open += keys.length
      const ended = new Promise<void>((resolve) => (isEmpty = resolve))
      await shaper.enqueueMany(keys.map((key) => ({ key, data: 0 })))
      await ended
    }
  }
  const costOf = async (prefix: string) => {
    const used = async () => {
      const { user, system } = process.cpuUsage()
      return user + system + ((await info?.cpuSeconds()) ?? 0) * 1e6
    }
    const before = await used()
    await departFrom(prefix, DEPARTURES[where])
    return ((await used()) - before) / DEPARTURES[where]
  }
  const size = async () => (info ? info.usedMemory() : heapInUse())
  await departFrom('warm-up', DEPARTURES[where])
  const alone = await costOf('alone')
  await departFrom('', 1)
  const client = server && new Redis(server.address)
  const shard = (await client?.keys('*}:meta'))?.[0]?.slice(0, -':meta'.length)
  // The end of a job is announced before it is stored.
  while (client && (await client.zscore(`${shard}:idle`, '0')) === null) await sleep(10)
  const before = await size()
  if (client === undefined) await departFrom('more', buckets)
  for (let n = 1; client && n <= buckets; n += COPIED_AT_ONCE) {
    await client.eval(COPY, 1, shard!, n, Math.min(buckets, n + COPIED_AT_ONCE - 1))
  }
  client?.disconnect()
  const bytes = ((await size()) - before) / buckets
  const beside = await costOf('beside')
  await shaper.close()
  await server?.stop()
  return { bytes, alone, beside }
}

function measure(where: string, parts: string): Cost {
  const script = [
    fileURLToPath(import.meta.url),
    '--trial',
    parts,
    '--where',
    where,
    '--buckets',
    flags.buckets,
  ]
  const settings = ['--expose-gc', '--max-old-space-size=8000', '--import', 'tsx']
  return JSON.parse(execFileSync(process.execPath, [...settings, ...script], { encoding: 'utf8' })) as Cost
}

if (flags.trial === undefined) {
  for (const where of flags.where.split(',')) {
    for (const [name, parts] of Object.entries(LIMITS)) {
      const { bytes, alone, beside } = measure(where, parts)
      const times = `a job alone ${alone.toFixed(1)} us, beside them ${beside.toFixed(1)} us`
      console.log(`${where}, ${flags.buckets} buckets, ${name}: ${bytes.toFixed(0)} bytes each; ${times}`)
    }
  }
} else {
  console.log(JSON.stringify(await trial(flags.where as 'memory' | 'redis', flags.trial)))
  // The connection that asks for processor time would look for its server.
  process.exit()
}
