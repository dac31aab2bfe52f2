import { flag, list, number, rest, row, text, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { HandedJob } from './handed-job.ts'
import type { Sweeps } from './sweeps.ts'

const job = row({
  id: text,
  epoch: number,
  key: text,
  cost: number,
  attempt: number,
  fate: word('waits', 'crashed', 'failed', 'gone', 'lapsed'),
})
const script = defineScript(
  'recover',
  import.meta.url,
  list(row({ at: number, isMore: flag, jobs: rest(job) })),
)

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
  /** A turn that held a place, which another may have now. */
  readonly lapsed: boolean
}

export interface Recovery {
  readonly jobs: Recovered[]
  /** Leases are left to be looked at: after a restart of the store, though this call found no job that has to come back. */
  readonly isMore: boolean
}

export interface RecoverRequest {
  /** Only jobs whose lease has ended by then: for how long the caller trusts the clock of the store. Absent: by now. */
  readonly until?: number
}

/**
 * handed | granted | running -> waiting | retrying at the head, for jobs whose lease has ended, and for those that were handed
 * over after them; failed after crashes. After a call that failed, the next one reports its jobs.
 */
export function recoverVerb(sweeps: Sweeps) {
  return async (shard: number, { until }: RecoverRequest = {}, now?: number): Promise<Recovery> => {
    const { at, isMore, jobs } = await sweeps.run(script, shard, now, until ?? '')
    const recovered = jobs.map(({ fate, ...lost }) => ({
      ...lost,
      at,
      crashed: fate === 'crashed' || fate === 'failed',
      failed: fate === 'failed',
      gone: fate === 'gone',
      lapsed: fate === 'lapsed',
    }))
    return { jobs: recovered, isMore }
  }
}
