import { flag, list, rest } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { type HandedJob, jobValues } from './handed-job.ts'

const script = defineScript('handed', import.meta.url, list(rest(flag)))

/** Whether each job is still handed over under its epoch, whatever its state since. */
export function handedVerb(store: Store) {
  return (shard: number, jobs: readonly HandedJob[]): Promise<boolean[]> =>
    store.run(script, shard, jobValues(jobs))
}
