import { setTimeout as sleep } from 'node:timers/promises'
import { type Admission, isVelvetRopeError, type Shaper } from '../../../src/index.ts'
import type { JobPlan } from '../plan/plan.ts'
import type { SimProcess } from '../world/process.ts'
import { type Payload, payloadOf, type Scene } from './scene.ts'

/** How long a producer waits before it asks a store again that was away; milliseconds. */
const PATIENCE = 100

/**
 * Asks until there is an answer; without one it asks again.
 *
 * @param requests of the store, one after the other, that the answer takes at most
 */
export async function ask<Answer>(
  scene: Scene,
  process: SimProcess,
  question: () => Promise<Answer>,
  requests = 1,
): Promise<Answer> {
  for (;;) {
    const at = process.read()
    try {
      const answer = await question()
      scene.record.answeredAt.set(process, process.read())
      return answer
    } catch (error) {
      if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
      if (process.isAlive) noteUnavailable(scene, process, at, requests)
      await sleep(PATIENCE)
    }
  }
}

/** A call of that time failed. It may have waited for others of its process: the time counts from the last answer that one of them got. */
function noteUnavailable({ record }: Scene, process: SimProcess, at: number, requests: number): number {
  const since = Math.max(at, record.answeredAt.get(process) ?? at)
  record.unavailable.push({ process, at: since, took: process.read() - since, requests })
  return since
}

/** Lines up the jobs of one producer as planned. Where another took its part before, it goes on with what had no answer. */
export function produce(scene: Scene, part: number, shaper: Shaper<Payload>, process: SimProcess): void {
  const own = scene.plan.jobs.filter((job) => job.producer === part && !scene.answered.has(job))
  const batches = new Map<number | JobPlan, JobPlan[]>()
  for (const job of own) {
    const name = job.batch ?? job
    const jobs = batches.get(name)
    if (jobs === undefined) batches.set(name, [job])
    else jobs.push(job)
  }
  for (const jobs of batches.values()) {
    const at = jobs[0]!.at * 1_000
    process.at(Math.max(at, process.inner), 0, () => void line(scene, shaper, process, jobs))
  }
}

async function line(
  scene: Scene,
  shaper: Shaper<Payload>,
  process: SimProcess,
  jobs: readonly JobPlan[],
): Promise<void> {
  const requests = jobs.map(requestOf)
  const waiting = { process }
  scene.calling.add(waiting)
  try {
    const [request] = requests
    if (jobs.length === 1 && jobs[0]!.givesUp === true) return await askOnce(scene, shaper, process, jobs[0]!)
    const first =
      requests.length === 1
        ? [await ask(scene, process, () => shaper.enqueue(request!.key, request!.data, optionsOf(request!)))]
        : await ask(scene, process, () => shaper.enqueueMany(requests))
    await Promise.all(jobs.map((job, index) => settle(scene, shaper, process, job, first[index]!)))
  } catch (error) {
    if (!(scene.isClosing(process) && isVelvetRopeError(error, 'closed'))) process.onUncaught(error)
  } finally {
    if (process.isAlive) scene.calling.delete(waiting)
  }
}

/** A producer that got an error does not ask again: what it asked for must not be admitted later. */
async function askOnce(
  scene: Scene,
  shaper: Shaper<Payload>,
  process: SimProcess,
  job: JobPlan,
): Promise<void> {
  const at = process.read()
  const request = requestOf(job)
  try {
    await shaper.enqueue(job.key, request.data, optionsOf(request))
  } catch (error) {
    if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
    if (!process.isAlive) return
    scene.record.givenUp.push({ id: job.id, at: noteUnavailable(scene, process, at, 1) })
  }
  if (process.isAlive) scene.answered.add(job)
}

async function settle(
  scene: Scene,
  shaper: Shaper<Payload>,
  process: SimProcess,
  job: JobPlan,
  first: Admission,
): Promise<void> {
  let admission = first
  for (let left = job.comesBack; !admission.accepted && admission.reason === 'full' && left > 0; left--) {
    await rest(process, Math.min(admission.retryAfterMs, 30_000))
    const request = requestOf(job)
    admission = await ask(scene, process, () => shaper.enqueue(job.key, request.data, optionsOf(request)))
  }
  // Of an answer that was lost on its way and given again the store knows the time: the record is completed by it.
  if (!process.isAlive) return
  scene.answered.add(job)
  if (!admission.accepted) scene.refused.add(job.id)
}

/** The line may be closed meanwhile: what a caller waits for is none of its timers. */
function rest(process: SimProcess, ms: number): Promise<void> {
  return new Promise((resolve) => void process.at(process.inner + ms * 1_000, 0, resolve))
}

function requestOf({ id, key, cost, costs, bytes, deadline, attempts, backoff, timeout }: JobPlan) {
  return {
    key,
    id,
    cost,
    ...(costs !== undefined && { costs }),
    attempts,
    data: payloadOf(id, bytes),
    backoff,
    ...(deadline !== undefined && { deadlineMs: deadline }),
    ...(timeout !== undefined && { timeoutMs: timeout }),
  }
}

function optionsOf({ key: _, data: __, ...options }: ReturnType<typeof requestOf>) {
  return options
}
