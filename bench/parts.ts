import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Shaper } from '../src/index.ts'
import { RedisInfo } from './redis/info.ts'
import { startRedis } from './redis/server.ts'
import { median } from './statistics.ts'

/**
 * What further parts of a limit cost: `tsx bench/parts.ts`. Processor time for each job, of this process and of Redis, under limits of
 * one, three and five parts, which never hold a job back. Each trial has a process of its own; the limits take turns.
 */
const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    where: { type: 'string', default: 'memory,redis' },
    jobs: { type: 'string', default: '100000' },
    'redis-jobs': { type: 'string', default: '20000' },
    /** One trial: the number of parts. */
    trial: { type: 'string' },
  },
})

const PARTS: Readonly<Record<number, string>> = {
  1: '',
  3: ', 1000000000/20s, 1000 at once',
  5: ', 1000000000/20s, 1000000000/21s, 1000000000 tokens/20s 10 each, 1000 at once',
}
const KEYS = 100
const BATCH = 200
/** A quota counts in so many, so that these windows are full after twenty seconds. */
const SUB_WINDOWS = 61
/** Enough that compiling is not what is measured. */
const FILLED_JOBS = 20_000
const SUB_WINDOW_MS = 340

interface Cost {
  /** Microseconds for each job. */
  readonly admit: number
  readonly depart: number
  /** Admission, while in each key something has started in each sub-window of each quota. */
  readonly filled: number
}

async function trial(where: string, parts: number): Promise<Cost> {
  const jobs = Number(where === 'redis' ? flags['redis-jobs'] : flags.jobs)
  const server = where === 'redis' ? await startRedis() : undefined
  const info = server && new RedisInfo(server.address)
  const limits = { '*': `${jobs}, 100000/s, tolerance 10ms${PARTS[parts]}` }
  const connection = server && { connection: `unix://${server.address}` }
  const shaper = new Shaper<number>('bench', { limits, ...connection })
  await shaper.ready()
  const used = async () => {
    const { user, system } = process.cpuUsage()
    return user + system + ((await info?.cpuSeconds()) ?? 0) * 1e6
  }
  const admit = async (wanted: number) => {
    for (let first = 0; first < wanted; first += BATCH) {
      const length = Math.min(BATCH, wanted - first)
      await shaper.enqueueMany(Array.from({ length }, (_, n) => ({ key: `k${(first + n) % KEYS}`, data: n })))
    }
  }
  const before = await used()
  await admit(jobs)
  const admitted = await used()
  let count = 0
  let worker: { close(): Promise<void> } | undefined
  await new Promise<void>((resolve) => {
    worker = shaper.work(() => {
      if (++count === jobs) resolve()
    })
  })
  const departed = await used()
  for (let n = 0; n < SUB_WINDOWS; n++) {
    await Promise.all([admit(KEYS), sleep(SUB_WINDOW_MS)])
  }
  await worker!.close()
  const filled = await used()
  await admit(FILLED_JOBS)
  const last = await used()
  await shaper.close()
  await server?.stop()
  return {
    admit: (admitted - before) / jobs,
    depart: (departed - admitted) / jobs,
    filled: (last - filled) / FILLED_JOBS,
  }
}

function measure(where: string, parts: number): Cost {
  const own = [...process.execArgv, fileURLToPath(import.meta.url), '--trial', `${parts}`, '--where', where]
  const sizes = ['--jobs', flags.jobs, '--redis-jobs', flags['redis-jobs']]
  return JSON.parse(execFileSync(process.execPath, [...own, ...sizes], { encoding: 'utf8' })) as Cost
}

function compare(where: string): void {
  const rounds = Array.from({ length: Number(flags.rounds) }, () =>
    Object.keys(PARTS).map((parts) => measure(where, Number(parts))),
  )
  for (const what of ['admit', 'depart', 'filled'] as const) {
    const cells = Object.keys(PARTS).map((parts, index) => {
      const cost = median(rounds.map((costs) => costs[index]![what]))
      const ratio = median(rounds.map((costs) => costs[index]![what] / costs[0]![what]))
      return `${parts}: ${cost.toFixed(2)} us (${ratio.toFixed(2)}x)`
    })
    console.log(`${where}, ${what}: ${cells.join('   ')}`)
  }
}

if (flags.trial === undefined) for (const where of flags.where.split(',')) compare(where)
else {
  console.log(JSON.stringify(await trial(flags.where, Number(flags.trial))))
  // The connection that asks for processor time would look for its server.
  process.exit()
}
