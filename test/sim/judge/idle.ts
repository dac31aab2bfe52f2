import { setTimeout as sleep } from 'node:timers/promises'
import type { Oracle } from '../actors/oracle.ts'
import type { Scene } from '../actors/scene.ts'
import { type Plan, slowestOf } from '../plan/plan.ts'
import { LOOKS, leftInStore } from './inspect.ts'
import type { Failure } from './judge.ts'

/** How long the store may take to forget what has ended, beside the time for which its buckets count it; milliseconds. */
const FORGETS = 40_000
/** A quota is counted in sixtieths of its window: what starts counts until the last moment of its own has left the window. */
const COUNTED = 61 / 60

/** A delivery whose worker died is fetched again, and refused, within 15 s; the rest is travel and patience. Milliseconds. */
const DELIVERED = 30_000

/**
 * Waits until BullMQ holds no delivery any more, in every run: all jobs have ended, so one that stays, or that is in no list, is
 * leaked. In a run that is to leave nothing (L7) waits also until the store holds nothing of buckets and jobs.
 */
export async function becomesEmpty(scene: Scene, oracle: Oracle): Promise<Failure[]> {
  const { plan, world } = scene
  const patience = (plan.keepFinished > 0 ? DELIVERED : countsFor(plan) + FORGETS) + keptLonger(plan)
  const until = world.present + patience * 1_000
  const left = () => {
    const { jobs, deliveries } = leftInStore(scene)
    return { L7: plan.keepFinished > 0 ? [] : jobs, leak: deliveries }
  }
  const isEmpty = ({ L7, leak }: ReturnType<typeof left>) => L7.length + leak.length === 0
  if (isEmpty(left())) return []
  return new Promise((resolve) => {
    const look = async () => {
      while (!isEmpty(left()) && world.present < until) await sleep(1_000)
      const found = Object.entries(left()).filter(([, names]) => names.length > 0)
      resolve(
        found.map(([law, names]) => {
          return { law, at: world.present, message: `the store still holds ${names.join(', ')}` }
        }),
      )
    }
    oracle.process.at(world.present, 0, () => void look())
  })
}

/** For how long the last start of a bucket decides about the next one: by its pace, or by a rolling quota; milliseconds. */
function countsFor({ keys: ofKeys, totals = [], jobs, turns }: Plan): number {
  const keys = [...ofKeys, ...totals]
  const costliest = Math.max(1, ...[...jobs, ...turns].map(({ cost }) => cost))
  const windows = keys.flatMap(({ quotas = [] }) => {
    return quotas.map(({ window }) => (typeof window === 'number' ? window * COUNTED : 0))
  })
  return Math.max(...keys.map((key) => slowestOf(key) * costliest), ...windows)
}

/** Redis keeps the locks and marks of BullMQ longer by as much as its clock was set back; what is longer still, `leftInStore` knows. */
function keptLonger({ faults }: Plan): number {
  const setBack = faults.reduce((sum, fault) => sum + (fault.kind === 'step' ? Math.max(0, -fault.by) : 0), 0)
  return Math.min(LOOKS, setBack)
}
