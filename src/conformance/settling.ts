import type { SettleEvent } from './history.ts'
import type { JobRecord } from './job-record.ts'
import { instant } from './law.ts'

/**
 * Returns why a settling of the job should have been refused, if it should: it counts once for each start, and only until the
 * attempt ends or another has its fence. An attempt that a fault hit may settle until the job starts again.
 */
export function whyUnsettleable({ at, fence }: SettleEvent, job: JobRecord | undefined): string | undefined {
  const start = job?.lastStart
  if (start === undefined) return 'before a start'
  if (fence !== undefined && start.fence !== undefined && fence !== start.fence) {
    return `by fence ${fence}, expected that of its last start, ${start.fence}`
  }
  if (start.isSettled) return 'again, expected once'
  if (at > start.settleUntil) return `after its attempt was over at ${instant(start.settleUntil)}`
  return undefined
}
