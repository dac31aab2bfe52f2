import { setTimeout as sleep } from 'node:timers/promises'
import type { Oracle } from '../actors/oracle.ts'
import type { Scene } from '../actors/scene.ts'
import { intervalOf } from '../plan/plan.ts'
import { leftInStore } from './inspect.ts'
import type { Failure } from './judge.ts'

/** How long the store may take to forget what has ended, beside the intervals of its buckets; milliseconds. */
const FORGETS = 40_000

/** Waits until the store holds nothing of buckets and jobs any more, in a run that is to leave nothing (L7). */
export async function becomesEmpty(scene: Scene, oracle: Oracle): Promise<Failure[]> {
  const { plan, world } = scene
  if (plan.keepFinished > 0) return []
  const longest = Math.max(
    ...plan.keys.map((key) => intervalOf(key) * Math.max(1, ...plan.jobs.map(({ cost }) => cost))),
  )
  const until = world.present + (longest + FORGETS) * 1_000
  return new Promise((resolve) => {
    const look = async () => {
      for (;;) {
        await sleep(1_000)
        const left = leftInStore(scene)
        if (left.length === 0) return resolve([])
        if (world.present < until) continue
        return resolve([
          { law: 'L7', at: world.present, message: `the store still holds ${left.join(', ')}` },
        ])
      }
    }
    oracle.process.at(world.present, 0, () => void look())
  })
}
