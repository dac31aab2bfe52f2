import { setTimeout as sleep } from 'node:timers/promises'
import { isVelvetRopeError } from '../../../src/index.ts'
import type { SettlePlan } from '../plan/set-plan.ts'
import type { SimProcess } from '../world/process.ts'
import type { Scene } from './scene.ts'

/** What settles: a job in its handler, or a turn. */
interface Settling {
  readonly key: string
  readonly fence: number
  settle(amounts: Readonly<Record<string, number>>): Promise<boolean>
}

/** Says what an attempt really used, as planned; each question is written down, and what was answered. Never rejects. */
export async function settle(
  scene: Scene,
  process: SimProcess,
  settling: Settling,
  plan: SettlePlan,
): Promise<void> {
  const ask = async (units: number) => {
    const { key, fence } = settling
    const amounts = { [plan.unit]: units }
    const asked = scene.record.ask(process, { key, fence, amounts })
    try {
      const isFirst = await settling.settle(amounts)
      if (process.isAlive) asked.answer = isFirst
    } catch (error) {
      // The limit may have been changed, and the shaper closed.
      if (isVelvetRopeError(error, 'unknown-unit')) asked.answer = false
      else if (!isVelvetRopeError(error, 'backend-unavailable') && !isVelvetRopeError(error, 'closed'))
        process.onUncaught(error)
    }
    if (process.isAlive) asked.until = process.read()
  }
  if (plan.atOnce) await Promise.all(plan.amounts.map(ask))
  else for (const units of plan.amounts) await ask(units)
}

/** Settles at its time while the attempt runs; does nothing where it is planned for later. */
export async function settleWhileRunning(
  scene: Scene,
  process: SimProcess,
  settling: Settling,
  plan: SettlePlan | undefined,
): Promise<void> {
  if (plan === undefined || plan.isLate) return
  if (plan.after > 0) await sleep(plan.after)
  await settle(scene, process, settling, plan)
}

/** Settles so long after now as is planned for after the end; to be called there. */
export function settleAfterEnd(
  scene: Scene,
  process: SimProcess,
  settling: Settling,
  plan: SettlePlan | undefined,
): void {
  if (plan?.isLate !== true) return
  setTimeout(() => void settle(scene, process, settling, plan), plan.after)
}
