import { Shaper } from '../../../src/index.ts'
import { call } from './call.ts'
import { consume } from './consume.ts'
import { HistoryFile } from './history-file.ts'
import { obey } from './obey.ts'
import type { ChildPlan, Work } from './plans.ts'
import { produce } from './produce.ts'
import { recordShaper } from './record-shaper.ts'
import { recordTurns } from './record-turns.ts'
import { watchStoreClock } from './store-clock.ts'

// One process of a campaign: a producer, a worker or a caller; all at once where the line is in its memory.
const plan: ChildPlan = JSON.parse(process.argv[2]!)
const file = new HistoryFile(plan.file)
await watchStoreClock(plan.address, file)
const options = {
  limits: { '*': plan.limit, ...plan.limits },
  jobDefaults: { keepFinished: 100_000 },
  ...(plan.address !== undefined && { connection: plan.address, prefix: plan.prefix }),
}
const shaper = new Shaper<Work>('campaign', options)
recordShaper(shaper, file)
const turnOf = recordTurns(shaper, file)
await shaper.ready()
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
