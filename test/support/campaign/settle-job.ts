import type { ShapedJob } from '../../../src/index.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'
import type { Work, WorkerPlan } from './plans.ts'

let calls = 0

type Settles = NonNullable<WorkerPlan['settles']>

/** Says what a job really took, by turns: less, more, twice, nothing; each question and its answer is written down. */
export async function settleJob(
  job: Pick<ShapedJob<Work>, 'id' | 'fence' | 'data' | 'settle'>,
  { unit, most }: Settles,
  file: HistoryFile,
): Promise<void> {
  const { id, fence, data } = job
  const ask = async (units: number) => {
    const amounts = { [unit]: units }
    const call = ++calls
    file.write({ kind: 'settle-asked', at: hostNow(), call, id, fence, amounts })
    const answer = await job.settle(amounts).catch(() => 'unknown' as const)
    file.write({ kind: 'settle-answered', at: hostNow(), call, answer })
  }
  switch (data.n % 5) {
    case 0:
      return ask(0)
    case 1:
      return ask(most)
    case 2:
      await ask(1)
      return ask(most)
    case 3:
      // Both at once: one of them counts.
      return void (await Promise.all([ask(1), ask(2)]))
  }
}
