import { setTimeout as sleep } from 'node:timers/promises'
import { parseLimit } from '../../../src/core/limit.ts'
import { isVelvetRopeError, type Shaper } from '../../../src/index.ts'
import { isLossy } from '../plan/fault.ts'
import type { Action } from '../plan/plan.ts'
import { passingTotals } from '../plan/total-plan.ts'
import type { SimProcess } from '../world/process.ts'
import { limitOf } from './limit-of.ts'
import { ask } from './produce.ts'
import type { Payload, Scene } from './scene.ts'

/** When a store is surely back that lost something; milliseconds. */
const AFTER_LOSS = 100
const NEVER = Number.POSITIVE_INFINITY
/** A change of the rule book reads it, writes it, and applies it to the buckets; with more shards than one it writes it again. */
const REQUESTS_OF_CHANGE = 3
/** A change that takes longer is made at a time that is not known well enough; microseconds. */
const KNOWN_WITHIN = 300_000

/** Does what the plan says beside the jobs, and looks at things; resolves when all is done. */
export async function operate(scene: Scene, shaper: Shaper<Payload>, process: SimProcess): Promise<void> {
  const passing = passingTotals(scene.plan)
  let changed: Promise<unknown> = Promise.resolve()
  const act = async (action: Action) => {
    if (action.at * 1_000 > process.read()) await sleep(action.at - process.read() / 1_000)
    const carry = async () => {
      try {
        await carryOut(scene, shaper, process, action)
      } catch (error) {
        // There is no total of that path now.
        const isGone = isVelvetRopeError(error, 'no-limit') && passing.has('key' in action ? action.key : '')
        if (!isGone) throw error
      }
    }
    if (action.do !== 'limit' && action.do !== 'unset') return carry()
    // One after the other: a change that is asked for again would undo the next.
    changed = changed.then(carry)
    return changed
  }
  const looking = scene.plan.views ? look(scene, shaper, process) : undefined
  try {
    const asking = scene.plan.asks?.map((at) => askWaits(scene, shaper, process, at))
    await Promise.all([...scene.plan.actions.map(act), ...(asking ?? []), looking])
  } catch (error) {
    process.onUncaught(error)
  }
}

async function carryOut(
  scene: Scene,
  shaper: Shaper<Payload>,
  process: SimProcess,
  action: Action,
): Promise<unknown> {
  // While the answer is not known it may have happened at any time since.
  const surely = async <Answer>(what: () => Promise<Answer>, requests = 1, knownWithin = NEVER) => {
    const from = process.read()
    const tries = scene.record.unavailable.length
    let askedAt = from
    const answer = await ask(
      scene,
      process,
      () => {
        askedAt = process.read()
        return what()
      },
      requests,
    )
    const isLater = scene.record.unavailable.length > tries
    const until = process.read()
    if (isLater || until - from > knownWithin) scene.unsure.push({ from, until })
    return { from, askedAt, answer, isLater }
  }
  const change = (what: () => Promise<unknown>) =>
    surely(what, REQUESTS_OF_CHANGE + (scene.plan.shards > 1 ? 1 : 0), KNOWN_WITHIN)
  switch (action.do) {
    case 'cancel':
      return surely(() => shaper.cancel(action.id))
    case 'freeze':
      return surely(() => shaper.freeze(action.key, action.for))
    case 'unfreeze': {
      const { key } = action
      const { askedAt, answer: isLifted, isLater } = await surely(() => shaper.unfreeze(key))
      // What was frozen before is not any more: a try whose answer was lost may have lifted it.
      if (isLater && !isLifted) scene.record.add(process, { type: 'unfreeze', at: askedAt, key })
      return
    }
    case 'pause':
      await surely(() => shaper.pause(action.key))
      await sleep(action.for)
      await surely(() => shaper.resume(action.key))
      // A store that forgot this would keep the bucket paused.
      for (const { until } of scene.plan.faults.filter(isLossy)) {
        const left = until + AFTER_LOSS - process.read() / 1_000
        if (left <= 0) continue
        await sleep(left)
        await surely(() => shaper.resume(action.key))
      }
      return
    case 'limit': {
      const { key } = action
      const limit = limitOf(action)
      // The first try may have set it, though its answer was lost: the next one reports it later, or as no change.
      const { from: at } = await change(() => shaper.limits.set(key, limit))
      return scene.record.add(process, { type: 'limit', at, key, limit: parseLimit(limit, key) })
    }
    case 'unset': {
      const { key } = action
      const { from: at } = await change(() => shaper.limits.unset(key))
      return scene.record.unset.push({ at, until: process.read(), key })
    }
  }
}

/** Writes down what each job that waits is promised. What it says counts from its answer, and what happens from the question on. */
async function askWaits(
  scene: Scene,
  shaper: Shaper<Payload>,
  process: SimProcess,
  atMs: number,
): Promise<void> {
  await sleep(atMs - process.read() / 1_000)
  await Promise.all(
    scene.plan.jobs.map(async ({ id, key }) => {
      const at = process.read()
      const explanation = await ask(scene, process, () => shaper.explain(id, { key }))
      if (explanation?.waitMsAtMost === undefined) return
      const startsBy = process.read() + explanation.waitMsAtMost * 1_000
      scene.record.add(process, { type: 'promise', at, id, key, startsBy })
    }),
  )
}

/** Asks for everything that can be seen. What it says is judged elsewhere: here it must not do harm. */
async function look(scene: Scene, shaper: Shaper<Payload>, process: SimProcess): Promise<void> {
  const { keys, jobs } = scene.plan
  for (let n = 0; n < 8; n++) {
    const { key } = keys[n % keys.length]!
    const id = jobs[n % Math.max(1, jobs.length)]?.id ?? 'none'
    await ask(scene, process, () => shaper.forecast(key))
    await ask(scene, process, () => shaper.inspect(key))
    await ask(scene, process, () => shaper.buckets({ sort: 'fill' }))
    await ask(scene, process, () => shaper.line(key))
    await ask(scene, process, () => shaper.explain(id))
    await ask(scene, process, () => shaper.job(id))
    await ask(scene, process, () => shaper.flow())
    await ask(scene, process, () => shaper.recent(key))
    await ask(scene, process, () => shaper.tally([[key]]))
    await sleep(200 + 300 * Math.random())
  }
}
