import { setTimeout as sleep } from 'node:timers/promises'
import { FreezeError, isVelvetRopeError, type ShapedJob, type Shaper } from '../../../src/index.ts'
import type { JobPlan, WorkerPlan } from '../plan/plan.ts'
import type { SimProcess } from '../world/process.ts'
import { type Payload, payloadOf, type Scene } from './scene.ts'
import { settleAfterEnd, settleWhileRunning } from './settle.ts'

/** Works on jobs; the first thing that a handler does is to read the clock of the world. */
export function work(scene: Scene, plan: WorkerPlan, shaper: Shaper<Payload>, process: SimProcess): void {
  const { concurrency, lease, scheduler } = plan
  const jobs = new Map(scene.plan.jobs.map((job) => [job.id, job]))
  const worker = shaper.work(
    async (job) => {
      const at = process.read()
      const { id, key, cost, costs, attempt, fence, signal } = job
      scene.record.add(process, { type: 'start', at, id, key, cost, ...(costs && { costs }), attempt, fence })
      if (process.isAlive) scene.record.fences.push({ at, key, id, fence })
      if (isVelvetRopeError(signal.reason, 'lease-lost')) scene.record.note(process, `${id} late: lease lost`)
      signal.throwIfAborted()
      const planned = jobs.get(id)
      if (planned === undefined) throw new Error(`expected a job of the plan, got ${id}`)
      const expected = JSON.stringify(payloadOf(id, planned.bytes))
      const got = JSON.stringify(job.data)
      if (got !== expected && process.isAlive) scene.record.strange.push({ at, id, got, expected })
      const settled = (reason: 'retry' | 'freeze') => {
        if (process.isAlive) scene.record.settled.push({ at: process.read(), id, attempt, reason })
      }
      const onAbort = () => {
        scene.record.leave(process, job)
        if (isVelvetRopeError(signal.reason, 'handler-timeout')) settled('retry')
        // Its process closes: the job goes back, with its attempt.
        if (isVelvetRopeError(signal.reason, 'closed')) settled('freeze')
      }
      signal.addEventListener('abort', onAbort)
      try {
        await handle(scene, planned, job, process)
      } catch (error) {
        if (!signal.aborted) settled(error instanceof FreezeError ? 'freeze' : 'retry')
        throw error
      } finally {
        signal.removeEventListener('abort', onAbort)
        scene.record.leave(process, job)
        settleAfterEnd(scene, process, job, planned.handler.settles)
      }
    },
    { concurrency, leaseMs: lease, scheduler },
  )
  scene.workers.set(process, worker)
}

async function handle(
  scene: Scene,
  { id, handler }: JobPlan,
  job: Pick<ShapedJob<Payload>, 'key' | 'attempt' | 'fence' | 'settle'>,
  process: SimProcess,
): Promise<void> {
  const isFirst = !scene.firstStarts.has(id)
  scene.firstStarts.add(id)
  if (scene.exitsSoFar(id) < (handler.exits ?? 0)) {
    scene.onExit(process, id)
    return
  }
  if (handler.computes > 0) process.block(handler.computes * 1_000)
  const settling = settleWhileRunning(scene, process, job, handler.settles)
  if (handler.takes > 0) await sleep(handler.takes)
  // Each promise takes a turn of its own: runs without sets keep theirs.
  if (handler.settles !== undefined) await settling
  if (handler.hangs && isFirst) await new Promise(() => undefined)
  if (handler.freezes !== undefined && isFirst) throw new FreezeError({ forMs: handler.freezes })
  if (job.attempt <= handler.fails) throw new Error('as planned')
}
