import { MILLISECOND } from '../../core/duration.ts'
import type { JobView } from '../../core/job.ts'
import { STORED_STATES } from '../scripts/prelude.ts'
import { type Answer, flag, list, number, optional, row, text, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { decodeCosts, decodeSettings } from '../verbs/settings-text.ts'

/** Times are microseconds; -1 for one that has not come, and a position of 0 for a job that does not wait. */
const jobRow = row({
  key: text,
  state: word(...STORED_STATES),
  cost: number,
  settings: text,
  data: text,
  attempt: number,
  admittedAt: number,
  deadline: number,
  departedAt: number,
  endedAt: number,
  position: number,
  hasResult: flag,
  result: text,
  hasError: flag,
  error: text,
})

const jobScript = defineScript('job', import.meta.url, list(optional(jobRow)))

/** Without a key that shows the shard, all shards are asked. */
export function readJob(store: Store, id: string, now?: number, key = ''): Promise<JobView | undefined> {
  const ask = async (shard: number) => {
    const job = await store.read(jobScript, shard, [id, key], now)
    return job && jobView(id, job)
  }
  return key === '' ? store.firstFound(ask) : ask(store.shardOf(key))
}

function jobView(id: string, job: Answer<typeof jobRow>): JobView {
  const { key, state, cost, data, attempt, admittedAt, deadline, departedAt, endedAt, position } = job
  const costs = decodeCosts(job.settings)
  return {
    id,
    key,
    state: state === 'granted' ? 'handed' : state,
    cost,
    ...(costs && { costs }),
    data: JSON.parse(data),
    attempt,
    attempts: decodeSettings(job.settings).attempts,
    admittedAt: admittedAt / MILLISECOND,
    ...(position > 0 && { position }),
    ...(Number.isFinite(deadline) && { deadlineAt: deadline / MILLISECOND }),
    ...(departedAt >= 0 && { departedAt: departedAt / MILLISECOND }),
    ...(endedAt >= 0 && { endedAt: endedAt / MILLISECOND }),
    ...(job.hasResult && { result: JSON.parse(job.result) }),
    ...(job.hasError && { error: job.error }),
  }
}
