import { randomBytes } from 'node:crypto'
import { number } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'

const script = defineScript('quarantine', import.meta.url, number)

/**
 * Each bucket of the shard waits one interval, counted from now, because a process saw its clock jump or found all that it
 * held lost. A small step forward (`by` microseconds) only adds to the distance from starts before it.
 */
export function quarantineVerb(store: Store) {
  /** Tells the processes apart that report the same step of a clock. */
  const process = randomBytes(6).toString('base64url')
  return async (
    shard: number,
    now?: number,
    reason: 'jump' | 'loss' | 'step' = 'jump',
    by = 0,
  ): Promise<void> => {
    await store.run(script, shard, [now ?? '', reason, by, process])
  }
}
