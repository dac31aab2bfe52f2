import type { Audit } from '../../../src/conformance/history.ts'
import type { Shaper } from '../../../src/index.ts'
import type { Book } from '../judge/books.ts'
import type { Part } from '../plan/fault.ts'
import { firstAlone, lastOf } from '../plan/plan.ts'
import { isSet } from '../plan/set-plan.ts'
import type { SimProcess } from '../world/process.ts'
import { call } from './call.ts'
import { exit, plant } from './faults.ts'
import { operate } from './operate.ts'
import { Oracle } from './oracle.ts'
import { produce } from './produce.ts'
import type { Payload, Scene } from './scene.ts'
import { work } from './work.ts'

/** What was found when all had ended. */
export interface Rest {
  readonly audit: Audit
  readonly books: readonly Book[]
  readonly oracle: Oracle
  /** When that was; microseconds of the world. */
  readonly at: number
}

/** Lets everything happen that the plan says; resolves when all jobs have ended and every process has closed. */
export async function direct(scene: Scene, fate: SimProcess): Promise<Rest> {
  const { plan } = scene
  const oracle = new Oracle(scene, fate)
  scene.onKilled = (process) => oracle.searchTurnsOf(process)
  scene.onTurnEnd = (id) => oracle.searchTurn(id)
  scene.onTurnUnheard = () => oracle.searchUnheardTurns()
  scene.onExit = (process, id) =>
    exit(scene, fate, process, id, (part) => void (scene.isOver || recast(scene, part)))
  if (plan.turns.length > 0) oracle.watchTurns()
  const isOperated = castAll(scene, fate)
  scene.keepSnapshots(fate)
  for (const fault of plan.faults)
    plant(scene, fate, fault, (part) => void (scene.isOver || recast(scene, part)))

  const last = lastOf(plan) * 1_000
  const audit = await oracle.rest(
    () => scene.world.present > Math.max(last, scene.healedAt) && isOperated() && hasAllAnswers(scene),
  )
  const at = scene.world.present
  const books = await booksOf(scene, oracle)
  scene.isOver = true
  await oracle.complete()
  return { audit, books, oracle, at }
}

/** What the store says of the keys whose limits are sets. */
async function booksOf({ plan, world }: Scene, oracle: Oracle): Promise<Book[]> {
  const books: Book[] = []
  for (const { key } of plan.keys.filter(isSet)) {
    books.push({ key, at: world.present, view: await oracle.ask((shaper) => shaper.inspect(key)) })
  }
  return books
}

/** Every producer and every caller knows what became of what it asked for; those whose process has gone for good need not. */
function hasAllAnswers({ plan, answered, calling }: Scene): boolean {
  return plan.jobs.every((job) => answered.has(job)) && [...calling].every(({ process }) => !process.isAlive)
}

function castAll(scene: Scene, fate: SimProcess): () => boolean {
  const { workers, producers, callers, schedulers } = scene.plan
  for (const [index, { at }] of workers.entries()) {
    fate.at(at * 1_000, 0, () => recast(scene, `worker-${index + 1}`))
  }
  for (let n = 1; n <= schedulers; n++) recast(scene, `scheduler-${n}`)
  for (let n = firstAlone(scene.plan); n <= producers; n++) recast(scene, `producer-${n}`)
  for (let n = firstAlone(scene.plan); n <= callers; n++) recast(scene, `caller-${n}`)
  let isOperated = scene.plan.actions.length === 0 && !scene.plan.views && scene.plan.asks === undefined
  if (!isOperated) {
    scene.enter('operator', (shaper, process) => {
      operate(scene, shaper, process).then(
        () => {
          isOperated = true
        },
        () => undefined,
      )
    })
  }
  return () => isOperated
}

/** Starts a process that plays the part from now on. */
function recast(scene: Scene, part: Part): void {
  const [role = '', number = ''] = part.split('-')
  const n = Number(number)
  const mains: Record<string, (shaper: Shaper<Payload>, process: SimProcess) => void> = {
    worker: (shaper, process) => {
      work(scene, scene.plan.workers[n - 1]!, shaper, process)
      if (n >= firstAlone(scene.plan)) return
      produce(scene, n, shaper, process)
      call(scene, n, shaper, process)
    },
    producer: (shaper, process) => produce(scene, n, shaper, process),
    caller: (shaper, process) => call(scene, n, shaper, process),
    scheduler: (shaper) => shaper.schedule(),
  }
  scene.enter(part, mains[role]!)
}

/** Closes every process that lives; resolves when all have. */
export async function closeAll(scene: Scene, oracle: Oracle): Promise<readonly SimProcess[]> {
  const living = [...scene.shapers.keys()].filter(({ isAlive }) => isAlive)
  const others = living.filter((process) => process !== oracle.process)
  for (const process of others) scene.close(process)
  await Promise.all(others.map((process) => scene.closings.get(process)))
  scene.close(oracle.process)
  await scene.closings.get(oracle.process)
  return living
}
