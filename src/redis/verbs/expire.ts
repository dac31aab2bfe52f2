import { idOfName } from '../scripts/job-id.ts'
import { list, number, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { RemovedJob } from './handed-job.ts'
import type { Sweeps } from './sweeps.ts'

const job = row({ id: text, key: text, cost: number, attempt: number })
const script = defineScript('expire', import.meta.url, list(row({ at: number, jobs: rest(job) })))

/** waiting | retrying -> expired, for jobs whose deadline has passed. After a call that failed, the next one reports its jobs. */
export function expireVerb(sweeps: Sweeps) {
  return async (shard: number, now?: number): Promise<RemovedJob[]> => {
    const { at, jobs } = await sweeps.run(script, shard, now)
    return jobs.map(({ id, ...expired }) => ({ ...expired, id: idOfName(id), at }))
  }
}
