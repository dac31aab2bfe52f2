import { setTimeout as sleep } from 'node:timers/promises'
import { FreezeError, isVelvetRopeError, type Shaper } from '../../../src/index.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'
import { digestOf } from './payload.ts'
import type { Work, WorkerPlan } from './plans.ts'
import { settleJob } from './settle-job.ts'

/** Works on the jobs of the shaper as planned; the first thing that a handler does is to write down its start. */
export function consume(shaper: Shaper<Work>, plan: WorkerPlan, file: HistoryFile): void {
  const frozen = new Set<string>()
  const { takesMs = 0, slow, failFirst = 0, freeze, hangEvery, settles, tellsStarts } = plan
  const options = {
    ...(plan.concurrency !== undefined && { concurrency: plan.concurrency }),
    ...(plan.leaseMs !== undefined && { leaseMs: plan.leaseMs }),
    ...(plan.scheduler !== undefined && { scheduler: plan.scheduler }),
  }
  shaper.work(async (job) => {
    const at = hostNow()
    const { id, key, cost, costs, attempt, data, signal, fence } = job
    const event = { type: 'start', at, id, key, cost, ...(costs && { costs }), attempt, fence } as const
    const carried = { fence, data: digestOf(data), admittedAt: job.admittedAt * 1_000 }
    file.write({ kind: 'event', clock: 'host', event, ...carried })
    if (isVelvetRopeError(signal.reason, 'lease-lost')) file.write({ kind: 'late', at, id })
    if (isVelvetRopeError(signal.reason, 'started-late')) file.write({ kind: 'missed-slot', at, id })
    // What follows stands for the request that a handler sends.
    signal.throwIfAborted()
    if (tellsStarts === true) console.log(`in-handler ${id}`)
    const ms = slow?.key === key ? slow.takesMs : takesMs
    if (ms > 0) await sleep(ms)
    if (settles !== undefined) await settleJob(job, settles, file)
    file.write({ kind: 'settled', at: hostNow(), id, attempt })
    if (hangEvery !== undefined && data.n % hangEvery === 0 && attempt === 1) await forever()
    if (freeze !== undefined && data.n % freeze.every === 0 && !frozen.has(id)) {
      frozen.add(id)
      throw new FreezeError({ forMs: freeze.forMs })
    }
    if (attempt <= failFirst) throw new Error('as planned')
  }, options)
}

function forever(): Promise<never> {
  return new Promise(() => undefined)
}
