import { handoffs, leaderships, schedulerPasses } from '../../core/diagnostics.ts'
import type { SchedulerPass } from './redis-scheduler.ts'

/** Whose scheduler it is. */
export interface PassOrigin {
  readonly shaper: string
  readonly shard: number
}

/** `duration` is in microseconds. */
export function tellPass({ shaper, shard }: PassOrigin, pass: SchedulerPass, duration: number): void {
  tellLeadership({ shaper, shard }, pass.isElected)
  if (!schedulerPasses.hasSubscribers) return
  const { handed, recovered, expired } = pass
  schedulerPasses.publish({ shaper, shard, duration, handed, recovered, expired })
}

export function tellLeadership({ shaper, shard }: PassOrigin, isLeader: boolean): void {
  if (leaderships.hasSubscribers) leaderships.publish({ shaper, shard, isLeader })
}

export function tellHanded({ shaper, shard }: PassOrigin, jobs: number, outcome: 'added' | 'error'): void {
  if (handoffs.hasSubscribers) handoffs.publish({ shaper, shard, jobs, outcome })
}
