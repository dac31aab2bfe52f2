import { setTimeout as sleep } from 'node:timers/promises'
import { RedisProcess } from '../../redis-process.ts'
import { hostNow } from '../host-time.ts'
import type { Draws } from '../seeded/draws.ts'
import { ActorProcess } from './actor-process.ts'

/** What a trial is done with: the Redis of its batch, and the process that survives. */
export interface Stage {
  readonly redis: RedisProcess
  readonly survivor: ActorProcess
  readonly draws: Draws
}

/** One fault, and for how long it held a start up: from the fault to the start that it had held back; milliseconds. */
export interface Trial {
  readonly name: string
  readonly goalMs: number
  /**
   * @param line the name of a line that no other trial has
   * @returns undefined when the fault could not be brought about
   */
  run(stage: Stage, line: string): Promise<number | undefined>
}

const LIMIT = '100, 20/s'
/** A scheduler stays in office while a departure is due soon, and not yet so soon that its job is handed over. */
const SLOW = '100, 4/s'
/** Enough for several seconds. */
const BUSY_JOBS = 40
/** For so long turns are held back before the process of those in front is killed; milliseconds. */
const FROZEN_MS = 1_500

export const TRIALS: readonly Trial[] = [
  { name: 'worker killed', goalMs: 20_000, run: workerKilled },
  { name: 'scheduler killed', goalMs: 2_000, run: schedulerKilled },
  { name: 'Redis back', goalMs: 5_000, run: redisBack },
  { name: 'caller of a turn killed', goalMs: 5_000, run: callerKilled },
]

const since = (moment: number, began: number) => (moment - began) / 1_000

/** A handler runs in a worker that dies; another worker starts the job again. Leases are as long as they are by default. */
async function workerKilled({ redis, survivor, draws }: Stage, line: string): Promise<number> {
  const address = redis.url
  const victim = await actorWith(line, address)
  await victim.ask({ do: 'work', line, hangs: true, scheduler: true })
  await survivor.ask({ do: 'open', line, address, limit: LIMIT })
  await survivor.ask({ do: 'enqueue', line, id: 'job' })
  await victim.momentOf('started', line, 'job')
  await survivor.ask({ do: 'work', line, hangs: false, scheduler: true })
  // Anywhere between two renewals of the lease.
  await sleep(draws.between(0, 4_000))
  const killedAt = hostNow()
  await victim.kill()
  return since(await survivor.momentOf('started', line, 'job'), killedAt)
}

/** The elected scheduler dies; a job that is queued in this moment is handed over by another. */
async function schedulerKilled({ redis, survivor, draws }: Stage, line: string): Promise<number | undefined> {
  const address = redis.url
  const victim = await actorWith(line, address, SLOW)
  await victim.ask({ do: 'schedule', line })
  await survivor.ask({ do: 'open', line, address, limit: SLOW })
  await survivor.ask({ do: 'work', line, hangs: false, scheduler: false })
  await survivor.ask({ do: 'enqueue', line, id: 'before' })
  await survivor.momentOf('started', line, 'before')
  // A scheduler that has nothing to hand over gives way to any other: this keeps it in office.
  await survivor.ask({ do: 'burst', line, jobs: BUSY_JOBS })
  await survivor.hears((one) => one.said === 'started' && one.line === line && one.id !== 'before')
  await survivor.ask({ do: 'schedule', line })
  await sleep(draws.between(200, 2_200))
  // On a busy machine its term may have ended meanwhile: then its death holds nothing up, and the trial says nothing.
  if (!victim.leads(line) || survivor.leads(line)) {
    await victim.kill()
    return undefined
  }
  const killedAt = hostNow()
  await victim.kill()
  await survivor.ask({ do: 'enqueue', line, id: 'after' })
  return since(await survivor.momentOf('started', line, 'after'), killedAt)
}

/** Redis dies with jobs in the line and comes back with its file; counted from the moment at which it takes commands. */
async function redisBack({ survivor, draws }: Stage, line: string): Promise<number> {
  const redis = await RedisProcess.start({ port: 'free', appendonly: 'yes', appendfsync: 'always' })
  try {
    await survivor.ask({ do: 'open', line, address: redis.url, limit: LIMIT })
    await survivor.ask({ do: 'work', line, hangs: false, scheduler: true })
    await survivor.ask({ do: 'enqueue', line, id: 'before' })
    await survivor.momentOf('started', line, 'before')
    await survivor.ask({ do: 'freeze', line, forMs: 300 })
    await survivor.ask({ do: 'enqueue', line, id: 'held-back' })
    await redis.kill()
    await sleep(draws.between(300, 6_000))
    await redis.restart()
    const backAt = hostNow()
    return since(await survivor.momentOf('started', line, 'held-back'), backAt)
  } finally {
    await redis.stop()
  }
}

/** A process dies whose callers wait for turns; a caller behind them goes on when their places are free. */
async function callerKilled({ redis, survivor, draws }: Stage, line: string): Promise<number> {
  const address = redis.url
  const victim = await actorWith(line, address)
  await survivor.ask({ do: 'open', line, address, limit: LIMIT })
  // A worker keeps the scheduler going, as elsewhere.
  await survivor.ask({ do: 'work', line, hangs: false, scheduler: true })
  await survivor.ask({ do: 'freeze', line, forMs: FROZEN_MS })
  for (const id of ['first', 'second', 'third']) await victim.ask({ do: 'acquire', line, id })
  await victim.momentOf('queued', line)
  await sleep(200)
  await survivor.ask({ do: 'acquire', line, id: 'behind' })
  await sleep(draws.between(100, 900))
  const killedAt = hostNow()
  await victim.kill()
  return since(await survivor.momentOf('went on', line, 'behind'), killedAt)
}

async function actorWith(line: string, address: string, limit = LIMIT): Promise<ActorProcess> {
  const actor = new ActorProcess()
  await actor.ask({ do: 'open', line, address, limit })
  return actor
}
