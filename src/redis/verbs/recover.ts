import { list, number, rest, row, text, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { HandedJob } from './handed-job.ts'
import type { Sweeps } from './sweeps.ts'

const job = row({
  id: text,
  epoch: number,
  key: text,
  cost: number,
  attempt: number,
  fate: word('waits', 'crashed', 'failed', 'gone'),
})
const script = defineScript('recover', import.meta.url, list(row({ at: number, jobs: rest(job) })))

export interface Recovered extends HandedJob {
  readonly key: string
  readonly cost: number
  readonly attempt: number
  readonly at: number
  /** Its handler may have started. */
  readonly crashed: boolean
  /** It crashed once too often, and failed. */
  readonly failed: boolean
  /** A turn whose caller is not there any more; it was cancelled. */
  readonly gone: boolean
}

/**
 * handed | granted | running -> waiting | retrying at the head, for jobs whose lease has ended; failed after crashes. After a call that
 * failed, the next one reports its jobs.
 */
export function recoverVerb(sweeps: Sweeps) {
  return async (shard: number, now?: number): Promise<Recovered[]> => {
    const { at, jobs } = await sweeps.run(script, shard, now)
    return jobs.map(({ fate, ...lost }) => ({
      ...lost,
      at,
      crashed: fate === 'crashed' || fate === 'failed',
      failed: fate === 'failed',
      gone: fate === 'gone',
    }))
  }
}
