import { parseLimit } from '../../../src/core/limit.ts'
import type { CampaignChild } from './child.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'
import { runningIn } from './merge-histories.ts'

/** How long before its slot a job may be handed over; microseconds. */
const FARTHEST_LOOK_AHEAD = 250_000
/** Jobs of a key that may have left the line while a process dies. */
const STARTING = 2

/** Writes down that a process died or stood still: what it ran is due to start once more; what it held may lose its place. */
export function noteFault(file: HistoryFile, { plan }: CampaignChild, stoodAt = hostNow()): void {
  const { ids, lastAt } = runningIn(plan.file)
  // After the start that it interrupts, also where that was the last thing that the process did.
  const at = Math.max(stoodAt, lastAt + 1)
  for (const id of ids) file.write({ kind: 'event', clock: 'host', event: { type: 'fault', at, id } })
  const { limit, limits = {} } = plan
  const intervals = [limit, ...Object.values(limits)].map((text) => parseLimit(text).interval)
  const handed = Math.ceil(FARTHEST_LOOK_AHEAD / Math.min(...intervals)) + STARTING
  file.write({ kind: 'event', clock: 'host', event: { type: 'crash', at, handed } })
}
