import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { isVelvetRopeError, Shaper } from '../../../src/index.ts'
import { call } from './call.ts'
import { armPoint } from './code-points.ts'
import { consume } from './consume.ts'
import { HistoryFile } from './history-file.ts'
import { obey } from './obey.ts'
import type { ChildPlan, Work } from './plans.ts'
import { produce } from './produce.ts'
import { recordRuns } from './record-runs.ts'
import { recordShaper } from './record-shaper.ts'
import { recordTurns } from './record-turns.ts'
import { watchStoreClock } from './store-clock.ts'

// One process of a campaign: a producer, a worker or a caller; all at once where the line is in its memory.
const plan: ChildPlan = JSON.parse(process.argv[2]!)
const file = new HistoryFile(plan.file)
const [node] = plan.nodes ?? []
await watchStoreClock(node === undefined ? plan.address : `redis://${node.host}:${node.port}`, file)
const connection = plan.nodes === undefined ? plan.address : new Cluster([...plan.nodes])
const options = {
  limits: { '*': plan.limit, ...plan.limits },
  jobDefaults: { keepFinished: 100_000 },
  ...(connection !== undefined && { connection, prefix: plan.prefix }),
  ...(plan.shards !== undefined && { shards: plan.shards }),
}
const shaper = new Shaper<Work>('campaign', options)
recordShaper(shaper, file)
recordRuns(file)
const turnOf = recordTurns(shaper, file)
await readyWhenRedisIs()
if (plan.point !== undefined) armPoint(plan.point, file)
if (plan.worker !== undefined) consume(shaper, plan.worker, file)
void obey(shaper, plan, file)
console.log('ready')
if (plan.producer !== undefined) {
  console.log(
    `done ${JSON.stringify(await produce(shaper, plan.producer.keys ?? plan.keys, plan.producer, file))}`,
  )
}
if (plan.caller !== undefined) {
  console.log(`called ${JSON.stringify(await call(shaper, plan.keys, plan.caller, { file, turnOf }))}`)
}

/** One that starts while Redis is away, or has no time, becomes ready later. */
async function readyWhenRedisIs(): Promise<void> {
  for (;;) {
    try {
      return await shaper.ready()
    } catch (error) {
      if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
      await sleep(100)
    }
  }
}
