import { flag, list, rest } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { HandedJob } from './handed-job.ts'

const script = defineScript('start', import.meta.url, list(rest(flag)))

export interface StartReport extends HandedJob {
  readonly startedAt: number
}

/** handed with a slot -> running. False: the job is not this worker's any more. */
export function startVerb(store: Store) {
  const start = (shard: number, starts: readonly StartReport[], now?: number) => {
    const values = starts.flatMap(({ id, epoch, startedAt }) => [id, epoch, startedAt])
    return store.run(script, shard, [now ?? '', starts.length, ...values])
  }
  return async (shard: number, starts: readonly StartReport[], now?: number): Promise<boolean[]> => {
    const answers = await start(shard, starts, now)
    while (answers.length < starts.length) {
      try {
        answers.push(...(await start(shard, starts.slice(answers.length), now)))
      } catch {
        // What was done is reported as done; the others may be sent again.
        break
      }
    }
    return answers
  }
}
