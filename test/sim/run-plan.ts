import './world/patch.ts'
import { isWithin } from '../../src/conformance/totals.ts'
import type { HistoryEvent } from '../../src/testing.ts'
import { closeAll, direct, type Rest } from './actors/direct.ts'
import { Scene } from './actors/scene.ts'
import { becomesEmpty } from './judge/idle.ts'
import { leftBehind, recountAll } from './judge/inspect.ts'
import { type Failure, judge } from './judge/judge.ts'
import { metFaults } from './judge/met.ts'
import { busySpans, momentIn } from './plan/busy.ts'
import { type Fault, isLossy } from './plan/fault.ts'
import { lastOf, limitsOf, type Plan, slowestOf } from './plan/plan.ts'
import { Network } from './world/network.ts'
import { Random } from './world/random.ts'
import { SimServer, type Store, type StoreHost } from './world/server.ts'
import { World, WorldTimeError } from './world/world.ts'

/** What became of a run. */
export interface Outcome {
  readonly plan: Plan
  readonly failures: readonly Failure[]
  readonly history: readonly HistoryEvent[]
  readonly scene: Scene
  readonly events: number
  /** Virtual time; microseconds. */
  readonly lasted: number
  /** The faults that met a job. */
  readonly met: readonly Fault[]
  /** It has faults, and none of them met a job. */
  readonly isIdle: boolean
  /** It was cut off before all jobs had ended and all processes were closed: that is a failure, too. */
  readonly isUndecided: boolean
}

/** More than any run needs. */
const MOST_EVENTS = 3_000_000
/** When all should have ended, beside the work itself; milliseconds. */
const SLACK = 180_000
/** So many times what its work takes by the pace is spared for a run. */
const SPARE = 3.5

/** Runs a plan in a world of its own. */
export async function runPlan(
  plan: Plan,
  openStore: (host: StoreHost) => Store,
  { mostEvents = MOST_EVENTS } = {},
): Promise<Outcome> {
  const random = new Random(plan.seed).fork('world')
  const world = new World(random)
  const server = new SimServer(world, openStore)
  const network = new Network(server, plan.network)
  const scene = new Scene(world, server, network, plan)
  if (plan.ahead !== undefined) server.step(plan.ahead * 1_000)
  const fate = world.spawn('fate')
  const failures: Failure[] = []
  let rest: Rest | undefined
  let isDecided = false

  fate.at(0, 0, () => {
    const play = async () => {
      for (const at of recountTimes(random, plan)) {
        fate.at(at, 0, () => void recountAll(scene).then((found) => failures.push(...found)))
      }
      rest = await direct(scene, fate)
      failures.push(...(await recountAll(scene)), ...(await becomesEmpty(scene, rest.oracle)))
      const closed = await closeAll(scene, rest.oracle)
      fate.at(world.present + 2_000_000, 0, () => {
        failures.push(...leftBehind(scene, closed))
        isDecided = true
        world.end()
      })
    }
    play().catch((error: unknown) => {
      fate.onUncaught(error)
      world.end()
    })
  })
  try {
    await world.run(endBy(plan), mostEvents)
  } catch (error) {
    if (!(error instanceof WorldTimeError)) throw error
    failures.push({ law: rest === undefined ? 'rest' : 'close', at: world.now, message: error.message })
  }
  const judged = judge(scene, rest)
  if (!isDecided && failures.length + judged.failures.length === 0) {
    failures.push({ law: 'undecided', at: world.now, message: 'the run ended before all was done' })
  }
  const met = metFaults(plan, scene.struck, judged.history)
  return {
    plan,
    failures: [...failures, ...judged.failures],
    history: judged.history,
    scene,
    events: world.events,
    lasted: world.now,
    met,
    isIdle: plan.faults.length > 0 && met.length === 0,
    isUndecided: !isDecided,
  }
}

/** Two moments at which the books of the store are looked at: in the middle of the work, and while it may be late. */
function recountTimes(random: Random, plan: Plan): number[] {
  const own = random.fork('recounts')
  return [momentIn(own, busySpans(plan)).at * 1_000, own.next() * (lastOf(plan) + 2_000) * 1_000]
}

/** All work is done long before; microseconds. */
function endBy(plan: Plan): number {
  const work = [...plan.keys, ...(plan.totals ?? [])].reduce((sum, key) => {
    const costs = [...plan.jobs, ...plan.turns].reduce((cost, job) => {
      const times = 'attempts' in job ? job.attempts + 3 : 1
      return job.key === key.key || isWithin(job.key, key.key) ? cost + job.cost * times : cost
    }, 0)
    const limits = limitsOf(plan, key)
    // Starts may be late, and quotas take time, too.
    const interval = Math.max(SPARE * slowestOf(key), ...limits.map(slowestOf))
    const capacity = Math.max(...limits.map((limit) => limit.capacity))
    return sum + interval * (costs + quarantineOf(plan, capacity))
  }, 0)
  const handlers = plan.jobs.reduce((sum, { attempts, backoff, handler }) => {
    return sum + (handler.takes + handler.computes + backoff) * attempts + (handler.freezes ?? 0)
  }, 0)
  return (
    (lastOf(plan) + Math.max(0, ...plan.faults.map(({ until }) => until)) + work + handlers + SLACK) * 1_000
  )
}

/** How many units a bucket waits for after restarts that may have lost something, and steps of the clock, at most. */
function quarantineOf({ faults, jobs }: Plan, capacity: number): number {
  const costliest = Math.max(0, ...jobs.map(({ cost }) => cost))
  return faults.reduce((units, fault) => {
    // What is set back to before it was first opened is empty as well.
    if (isLossy(fault)) return units + Math.max(capacity, costliest)
    return fault.kind === 'restart' || fault.kind === 'step' ? units + costliest : units
  }, 0)
}
