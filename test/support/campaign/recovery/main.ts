import { parseArgs } from 'node:util'
import { RedisProcess } from '../../redis-process.ts'
import { Draws } from '../seeded/draws.ts'
import { ActorProcess } from './actor-process.ts'
import { TRIALS, type Trial } from './trials.ts'

// How long faults hold starts up: so many trials of each kind, some at a time; compiled and started by `test/fault/run.ts`.
const { values } = parseArgs({
  options: {
    trials: { type: 'string' },
    seed: { type: 'string' },
    together: { type: 'string' },
    about: { type: 'string' },
  },
})
const trials = Number(values.trials)
const seed = Number(values.seed)
const together = Number(values.together)

async function measure({ name, run }: Trial): Promise<number[]> {
  const draws = new Draws(seed)
  const durations: number[] = []
  let lines = 0
  let underWay = 0
  const redis = await RedisProcess.start({ port: 'free' })
  // One process for all lines: there are as many victims at a time as the machine can bear.
  const survivor = new ActorProcess()
  const one = async () => {
    while (durations.length + underWay < trials) {
      underWay += 1
      const duration = await run({ redis, survivor, draws }, `${name.replaceAll(' ', '-')}-${lines++}`)
      underWay -= 1
      if (duration !== undefined) durations.push(duration)
    }
  }
  try {
    await Promise.all(Array.from({ length: together }, one))
  } finally {
    await survivor.kill()
    await redis.stop()
  }
  return durations.sort((a, b) => a - b)
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`
console.log(
  `recovery, ${trials} trials each, seed ${seed}: from the fault to the start that it had held back`,
)
console.log('| fault | least | median | 95 % | most | goal |\n|---|---|---|---|---|---|')
let isMissed = false
for (const trial of TRIALS) {
  if (values.about !== undefined && values.about !== trial.name) continue
  const sorted = await measure(trial)
  const at = (share: number) =>
    seconds(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!)
  const isKept = sorted.at(-1)! <= trial.goalMs
  if (!isKept) isMissed = true
  const goal = `<= ${seconds(trial.goalMs)}${isKept ? '' : ': MISSED'}`
  console.log(
    `| ${trial.name} | ${at(0)} | ${at(0.5)} | ${at(0.95)} | ${seconds(sorted.at(-1)!)} | ${goal} |`,
  )
}
await RedisProcess.stopAll()
process.exit(isMissed ? 1 : 0)
