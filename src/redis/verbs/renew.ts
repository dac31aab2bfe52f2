import { flag, list, rest } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { type HandedJob, jobValues } from './handed-job.ts'

const script = defineScript('renew', import.meta.url, list(rest(flag)))

/** Moves the end of leases; false: the lease was lost. With epoch 0: that of the place of a turn. */
export function renewVerb(store: Store) {
  return (shard: number, jobs: readonly HandedJob[], lease: number, now?: number): Promise<boolean[]> =>
    store.run(script, shard, [now ?? '', lease, ...jobValues(jobs)])
}
