import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { parseLayer } from '../../src/core/layered-book.ts'
import { Shaper } from '../../src/index.ts'
import type { JobRequest } from '../../src/line/job.ts'
import { retentionOf } from '../../src/line/options.ts'
import { Connection } from '../../src/redis/connection/connection.ts'
import { parseConnection } from '../../src/redis/connection/connection-input.ts'
import { RedisBackend } from '../../src/redis/redis-backend.ts'
import { startRedis } from '../redis/server.ts'
import { median } from '../statistics.ts'

/**
 * What a departure costs below a total, by the number of children that have work: `tsx bench/totals/departures.ts`. In memory the
 * processor time of the process; on Redis the time that its scripts take, in calls as workers send them, in a time of their own, so that
 * no pace of this machine is in it. Beside each, as many buckets without a total. Each trial has a process of its own.
 */
const { values: flags } = parseArgs({
  options: {
    where: { type: 'string', default: 'memory,redis' },
    children: { type: 'string', default: '10,1000,100000,1000000' },
    rounds: { type: 'string', default: '3' },
    departures: { type: 'string', default: '20000' },
    /** One trial: `total` or `alone`. */
    trial: { type: 'string' },
  },
})

const BATCH = 200
/** Jobs that one call of a worker asks a slot for, starts or ends; of each bucket one at a time. */
const OF_A_WORKER = 15
const LOOK_AHEAD = 100_000
const HOUR = 3_600_000_000
const START = 1.7e15
const SETTINGS = {
  attempts: 1,
  backoff: { type: 'fixed', delayMs: 1, maxDelayMs: 1, jitter: 0 },
  timeoutMs: 60_000,
} as const

interface Handed {
  readonly id: string
  readonly key: string
  readonly epoch: number
}

/** The jobs of the first departures are not counted: meanwhile code is compiled, and on Redis children join. */
const WARM_UP = 0.2

/** Each child gets as many, and none has started its last one when the count ends: so all of them have work all the time. */
function jobsFor(children: number, departures: number): number {
  return children * (Math.ceil(departures / children) + 1)
}

async function inMemory(children: number, departures: number, isTotal: boolean): Promise<number> {
  const limits = {
    '*': '1000000, 100000/s, tolerance 10ms',
    ...(isTotal && { 'a/': '10000000, 1000000/s, tolerance 10ms' }),
  }
  const shaper = new Shaper<number>('bench', { limits })
  const jobs = jobsFor(children, departures)
  for (let first = 0; first < jobs; first += BATCH) {
    const length = Math.min(BATCH, jobs - first)
    await shaper.enqueueMany(
      Array.from({ length }, (_, n) => ({ key: `a/${(first + n) % children}`, data: n })),
    )
  }
  let count = 0
  let before = process.cpuUsage()
  const warm = departures * WARM_UP
  await new Promise<void>((resolve) => {
    shaper.work(() => {
      if (++count === warm) before = process.cpuUsage()
      if (count === departures) resolve()
    })
  })
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (departures - warm)
}

async function onRedis(children: number, departures: number, isTotal: boolean): Promise<number> {
  const { address, stop } = await startRedis()
  const url = `unix://${address}`
  const redis = new Redis(address)
  const scriptTime = async () => {
    const stats = await redis.info('commandstats')
    return Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(stats)?.[1] ?? 0)
  }
  const connection = new Connection(parseConnection(url), () => undefined)
  await connection.ready()
  // Without a total all buckets together go as fast.
  const limits: Record<string, string> = isTotal
    ? { '*': `1000000, ${Math.max(50, 2_000 / children)}/s`, 'a/': '10000000, 1000/s, tolerance 10ms' }
    : { '*': `1000000, 1000/${children}s` }
  const { verbs, open } = await backendOf(connection, limits)
  await open()
  let now = START
  const jobs = jobsFor(children, departures)
  for (let first = 0; first < jobs; first += BATCH / 2) {
    const length = Math.min(BATCH / 2, jobs - first)
    const some = Array.from({ length }, (_, n) => {
      const key = `a/${(first + n) % children}`
      return {
        id: `j${first + n}`,
        key,
        cost: 1,
        data: 'null',
        settings: SETTINGS,
        deadline: Infinity,
      } satisfies JobRequest
    })
    await verbs.admitMany(some, now)
  }
  let [done, before] = [0, 0]
  while (done < departures) {
    if (before === 0 && done >= departures * WARM_UP) before = await scriptTime()
    const request = { scheduler: 's', lookAhead: LOOK_AHEAD, most: BATCH, lease: HOUR }
    const claim = await verbs.claim(0, request, now)
    if (claim.jobs.length === 0) now = Math.max(now + 1_000, claim.nextClaim)
    for (let open: readonly Handed[] = claim.jobs; open.length > 0; ) {
      const some = firstOfEach(open).slice(0, OF_A_WORKER)
      const asks = some.map(({ id, epoch }) => ({ id, epoch, worker: 'w', lead: 0, lease: HOUR, error: 0 }))
      const { answers } = await verbs.gate(0, asks, now)
      const granted: (Handed & { readonly startedAt: number })[] = []
      const again: Handed[] = []
      let [latest, soonest] = [now, Number.POSITIVE_INFINITY]
      for (const [index, answer] of answers.entries()) {
        const job = some[index]!
        if (answer.kind === 'granted') {
          granted.push({ ...job, startedAt: answer.startAt })
          latest = Math.max(latest, answer.startAt)
        } else if (answer.kind === 'wait') {
          again.push(job)
          soonest = Math.min(soonest, answer.until)
        }
      }
      const asked = new Set<Handed>(some)
      // Behind those that were not asked for yet.
      open = [...open.filter((job) => !asked.has(job)), ...again]
      now = granted.length > 0 ? latest : Math.max(now, soonest)
      if (granted.length === 0) continue
      const starts = granted.map(({ id, epoch, startedAt }) => ({ id, epoch, startedAt }))
      await verbs.start(0, starts, now)
      const outcome = { kind: 'completed', result: undefined } as const
      await verbs.finish(
        0,
        granted.map(({ id, epoch }) => ({ id, epoch, outcome })),
        now,
      )
      done += granted.length
    }
  }
  const spent = (await scriptTime()) - before
  connection.close()
  redis.disconnect()
  await stop()
  return spent / (departures * (1 - WARM_UP))
}

function firstOfEach(jobs: readonly Handed[]): Handed[] {
  const keys = new Set<string>()
  return jobs.filter(({ key }) => !keys.has(key) && keys.add(key))
}

async function backendOf(connection: Connection, limits: Record<string, string>) {
  const rules = parseLayer(limits)
  const retention = retentionOf({ keepFinished: 1_000, keepFinishedMs: 10_000 })
  const backend = new RedisBackend({ name: 'x', prefix: 'b', shards: 1, connection, rules, retention })
  return { verbs: backend.verbs, open: () => backend.open(START) }
}

function measure(where: string, children: string, trial: string): number {
  const own = [...process.execArgv, fileURLToPath(import.meta.url), '--trial', trial, '--where', where]
  const sizes = ['--children', children, '--departures', flags.departures]
  return Number(execFileSync(process.execPath, [...own, ...sizes], { encoding: 'utf8' }))
}

if (flags.trial !== undefined) {
  const [children, departures, isTotal] = [
    Number(flags.children),
    Number(flags.departures),
    flags.trial === 'total',
  ]
  const one = flags.where === 'redis' ? onRedis : inMemory
  console.log(await one(children, departures, isTotal))
  process.exit()
}
for (const where of flags.where.split(',')) {
  for (const children of flags.children.split(',')) {
    const rounds = Array.from({ length: Number(flags.rounds) }, () => {
      const alone = measure(where, children, 'alone')
      return { alone, below: measure(where, children, 'total') }
    })
    const [alone, below] = [
      median(rounds.map((round) => round.alone)),
      median(rounds.map((round) => round.below)),
    ]
    const ratio = median(rounds.map((round) => round.below / round.alone))
    console.log(
      `${where}, ${children} children: ${below.toFixed(1)} us below a total, ${alone.toFixed(1)} us without (${ratio.toFixed(2)}x)`,
    )
  }
}
