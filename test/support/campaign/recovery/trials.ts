import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisProcess, RedisSettings } from '../../redis-process.ts'
import { hostNow } from '../host-time.ts'
import type { Draws } from '../seeded/draws.ts'
import type { ActorProcess } from './actor-process.ts'

/** What a trial is done with: the Redis of its batch, the process that survives, and processes of its own. */
export interface Stage {
  readonly redis: RedisProcess
  readonly survivor: ActorProcess
  readonly draws: Draws
  /** A process that is ended after the trial, at the latest. */
  readonly actor: () => ActorProcess
}

/** Brings the fault about; from then until the start that it had held back, milliseconds. Undefined: it held nothing back. */
export type Fault = () => Promise<number | undefined>

/** One fault, and for how long it held a start up. */
export interface Trial {
  /** Its first word chooses it. */
  readonly name: string
  readonly goalMs: number
  /** Trials that are under way together must not share a Redis: each of them has one like this, one after the other. */
  readonly ownRedis?: RedisSettings
  /**
   * @param line the name of a line that no other trial has
   * @returns undefined when the fault cannot be brought about
   */
  prepare(stage: Stage, line: string): Promise<Fault | undefined>
}

const LIMIT = '100, 20/s'
/** Costs of jobs of a key each, at an interval of 250 ms: some departure is due within the next second at any time. */
const SLOW = '100, 4/s'
const BUSY_COSTS = [2, 3, 4, 5, 6]
/** Enough for ten seconds and more of each. */
const BUSY_JOBS = 16
/** Until the victim has handed over again; milliseconds. */
const SETTLES_MS = 300
/** How often, and how often at most, a trial looks whether the victim is the elected scheduler; milliseconds. */
const LOOKS = { everyMs: 50, most: 60 }
/** For so long a job is held back, and Redis is away for longer; milliseconds. */
const HELD_BACK_MS = 1_000
/** For so long turns are held back before the process of those in front is killed; milliseconds. */
const FROZEN_MS = 1_500

/** Clients of one line, in so many processes. */
const CROWD = { clients: 200, processes: 4 }

/** The lease of a worker that has a place, and so much more for a scheduler to look and for the way to another worker. */
const PLACE_LEASE_MS = 5_000
const PLACE_GOAL_MS = PLACE_LEASE_MS + 1_000

export const TRIALS: readonly Trial[] = [
  { name: 'worker killed', goalMs: 20_000, prepare: workerKilled },
  { name: 'scheduler killed', goalMs: 2_000, prepare: schedulerKilled },
  {
    name: 'Redis back',
    goalMs: 5_000,
    ownRedis: { port: 'free', appendonly: 'yes', appendfsync: 'always' },
    prepare: redisBack,
  },
  {
    name: `crowd of ${CROWD.clients} clients, Redis back: 99 % of starts`,
    goalMs: 5_000,
    ownRedis: { port: 'free', appendonly: 'yes', appendfsync: 'always' },
    prepare: crowdBack,
  },
  { name: 'caller of a turn killed', goalMs: 5_000, prepare: callerKilled },
  { name: 'place of a killed worker', goalMs: PLACE_GOAL_MS, prepare: placeLost((victim) => victim.kill()) },
  {
    name: 'place of a stopped worker',
    goalMs: PLACE_GOAL_MS,
    prepare: placeLost(async (victim) => victim.stop()),
  },
]

const since = (moment: number, began: number) => (moment - began) / 1_000

/** A handler runs in a worker that dies; another worker starts the job again. Leases are as long as they are by default. */
async function workerKilled(stage: Stage, line: string): Promise<Fault> {
  const { redis, survivor, draws } = stage
  const address = redis.url
  const victim = await actorWith(stage, line, LIMIT)
  await victim.ask({ do: 'work', line, hangs: true, scheduler: true })
  await survivor.ask({ do: 'open', line, address, limit: LIMIT })
  await survivor.ask({ do: 'enqueue', line, id: 'job' })
  await victim.momentOf('started', line, 'job')
  await survivor.ask({ do: 'work', line, hangs: false, scheduler: true })
  return async () => {
    // Anywhere between two renewals of the lease.
    await sleep(draws.between(0, 4_000))
    const killedAt = hostNow()
    await victim.kill()
    return since(await survivor.momentOf('started', line, 'job'), killedAt)
  }
}

/** The elected scheduler dies; a job that is queued in this moment is handed over by another. */
async function schedulerKilled(stage: Stage, line: string): Promise<Fault | undefined> {
  const { redis, survivor, draws } = stage
  const victim = await actorWith(stage, line, SLOW)
  await victim.ask({ do: 'schedule', line })
  await survivor.ask({ do: 'open', line, address: redis.url, limit: SLOW })
  await survivor.ask({ do: 'work', line, hangs: false, scheduler: false })
  await survivor.ask({ do: 'enqueue', line, id: 'before' })
  await survivor.momentOf('started', line, 'before')
  // A scheduler that has nothing to hand over for a second gives way to any other: this keeps it in office. One key alone would
  // not: while a job of it is handed over and has not started, none of it is due. So it is with all of them, in the beginning.
  await survivor.ask({ do: 'burst', line, costs: BUSY_COSTS, jobs: BUSY_JOBS })
  for (const cost of BUSY_COSTS) await survivor.momentOf('started', line, `busy-${cost}-0`)
  await sleep(SETTLES_MS)
  await survivor.ask({ do: 'schedule', line })
  await sleep(draws.between(200, 2_200))
  // On a busy machine its term may have ended meanwhile: then its death would hold nothing up.
  for (let look = 0; victim.officeIn(line) !== 'leads' || survivor.officeIn(line) !== 'follows'; look++) {
    if (look === LOOKS.most) return undefined
    await sleep(LOOKS.everyMs)
  }
  return async () => {
    const killedAt = hostNow()
    await victim.kill()
    await survivor.ask({ do: 'enqueue', line, id: 'after' })
    return since(await survivor.momentOf('started', line, 'after'), killedAt)
  }
}

/** Redis dies with jobs in the line and comes back with its file; counted from the moment at which it takes commands. */
async function redisBack({ survivor, draws, redis }: Stage, line: string): Promise<Fault> {
  await survivor.ask({ do: 'open', line, address: redis.url, limit: LIMIT })
  await survivor.ask({ do: 'work', line, hangs: false, scheduler: true })
  await survivor.ask({ do: 'enqueue', line, id: 'before' })
  await survivor.momentOf('started', line, 'before')
  await survivor.ask({ do: 'freeze', line, forMs: HELD_BACK_MS })
  await survivor.ask({ do: 'enqueue', line, id: 'held-back' })
  return async () => {
    const killedAt = hostNow()
    await redis.kill()
    await sleep(HELD_BACK_MS + draws.between(300, 6_000))
    await redis.restart()
    const backAt = hostNow()
    const startedAt = await survivor.momentOf('started', line, 'held-back')
    // On a busy machine the freeze may have been over before.
    return startedAt < killedAt ? undefined : since(startedAt, backAt)
  }
}

/** Many clients of one line have lost their connections; when it is back, each enqueues a job. Until nearly all have started. */
async function crowdBack({ redis, actor, draws }: Stage, line: string): Promise<Fault> {
  const crowd = Array.from({ length: CROWD.processes }, actor)
  const clients = CROWD.clients / CROWD.processes
  const address = redis.url
  await Promise.all(crowd.map((one) => one.ask({ do: 'crowd', line, address, limit: LIMIT, clients })))
  return async () => {
    await redis.kill()
    await sleep(draws.between(300, 6_000))
    await redis.restart()
    const backAt = hostNow()
    await Promise.all(crowd.map((one) => one.ask({ do: 'crowd enqueues', line })))
    for (;;) {
      const starts = crowd.flatMap((one) => one.startsIn(line)).sort((a, b) => a - b)
      if (starts.length >= CROWD.clients) return since(starts[Math.ceil(0.99 * CROWD.clients) - 1]!, backAt)
      await sleep(LOOKS.everyMs)
    }
  }
}

/** A process dies whose callers wait for turns; a caller behind them goes on when their places are free. */
async function callerKilled(stage: Stage, line: string): Promise<Fault> {
  const { redis, survivor, draws } = stage
  const victim = await actorWith(stage, line, LIMIT)
  await survivor.ask({ do: 'open', line, address: redis.url, limit: LIMIT })
  // A worker keeps the scheduler going, as elsewhere.
  await survivor.ask({ do: 'work', line, hangs: false, scheduler: true })
  await survivor.ask({ do: 'freeze', line, forMs: FROZEN_MS })
  for (const id of ['first', 'second', 'third']) await victim.ask({ do: 'acquire', line, id })
  await victim.momentOf('queued', line)
  await sleep(200)
  await survivor.ask({ do: 'acquire', line, id: 'behind' })
  return async () => {
    await sleep(draws.between(100, 900))
    const killedAt = hostNow()
    await victim.kill()
    const wentOnAt = await survivor.momentOf('went on', line, 'behind')
    return wentOnAt < killedAt ? undefined : since(wentOnAt, killedAt)
  }
}

/** The one place of a limit is taken in a worker that falls silent, and jobs wait for it; counted until another worker has it. */
function placeLost(silence: (victim: ActorProcess) => Promise<void>): Trial['prepare'] {
  const limit = '100, 50/s, 1 at once'
  const leaseMs = PLACE_LEASE_MS
  return async (stage, line) => {
    const { redis, survivor, draws } = stage
    const victim = await actorWith(stage, line, limit)
    await victim.ask({ do: 'work', line, hangs: true, scheduler: true, leaseMs })
    await survivor.ask({ do: 'open', line, address: redis.url, limit })
    await survivor.ask({ do: 'enqueue', line, id: 'job' })
    await victim.momentOf('started', line, 'job')
    await survivor.ask({ do: 'work', line, hangs: false, scheduler: true, leaseMs })
    await survivor.ask({ do: 'enqueue', line, id: 'next' })
    return async () => {
      // Anywhere between two renewals of the lease.
      await sleep(draws.between(0, leaseMs))
      const silentAt = hostNow()
      await silence(victim)
      return since(await survivor.momentOf('started', line), silentAt)
    }
  }
}

async function actorWith({ actor, redis }: Stage, line: string, limit: string): Promise<ActorProcess> {
  const victim = actor()
  await victim.ask({ do: 'open', line, address: redis.url, limit })
  return victim
}
