import { list, rest, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { HandedJob } from './handed-job.ts'
import { reportAll } from './report-all.ts'

const script = defineScript('start', import.meta.url, list(rest(word('0', '1', '2'))))

export interface StartReport extends HandedJob {
  readonly startedAt: number
}

/** `lost`: the job is not this worker's any more. `stop`: it was started, and no other is to start without asking for its slot. */
export type StartAnswer = 'started' | 'stop' | 'lost'

const ANSWERS = { '0': 'lost', '1': 'started', '2': 'stop' } as const

/** handed with a slot, or as one of a run -> running. */
export function startVerb(store: Store) {
  return (shard: number, starts: readonly StartReport[], now?: number): Promise<StartAnswer[]> =>
    reportAll(starts, async (some) => {
      const values = some.flatMap(({ id, epoch, startedAt }) => [id, epoch, startedAt])
      const answers = await store.run(script, shard, [now ?? '', some.length, ...values])
      return answers.map((answer) => ANSWERS[answer])
    })
}
