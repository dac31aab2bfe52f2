import { flag, list, rest } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { HandedJob } from './handed-job.ts'
import { reportAll } from './report-all.ts'

const script = defineScript('start', import.meta.url, list(rest(flag)))

export interface StartReport extends HandedJob {
  readonly startedAt: number
}

/** handed with a slot -> running. False: the job is not this worker's any more. */
export function startVerb(store: Store) {
  return (shard: number, starts: readonly StartReport[], now?: number): Promise<boolean[]> =>
    reportAll(starts, (some) => {
      const values = some.flatMap(({ id, epoch, startedAt }) => [id, epoch, startedAt])
      return store.run(script, shard, [now ?? '', some.length, ...values])
    })
}
