import { parseArgs } from 'node:util'
import { RedisProcess } from '../../redis-process.ts'
import { Draws } from '../seeded/draws.ts'
import { ActorProcess, WishFailed } from './actor-process.ts'
import { type Stage, TRIALS, type Trial } from './trials.ts'

// How long faults hold starts up: so many trials of each kind, some at a time; compiled and started by `test/fault/run.ts`.
const { values } = parseArgs({
  options: {
    trials: { type: 'string' },
    seed: { type: 'string' },
    together: { type: 'string' },
    kind: { type: 'string' },
  },
})
const trials = Number(values.trials)
const seed = Number(values.seed)
const together = Number(values.together)
/** For each trial that counts; more, and the measurement is red. */
const MOST_VOIDS = 5
const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`

interface Measured {
  readonly sorted: readonly number[]
  /** Trials whose fault could not be brought about. */
  readonly voids: number
}

/** One trial, whose processes are gone afterwards. What fails before the fault makes it void, what fails after it ends all. */
async function attempt(trial: Trial, stage: Omit<Stage, 'actor'>, line: string): Promise<number | undefined> {
  const actors: ActorProcess[] = []
  const actor = () => {
    const started = new ActorProcess()
    actors.push(started)
    return started
  }
  const complain = (error: unknown) => {
    if (!(error instanceof WishFailed)) throw error
    console.error(error.message)
    return undefined
  }
  const fault = await trial.prepare({ ...stage, actor }, line).catch(complain)
  const duration = await fault?.()
  await Promise.all(actors.map((started) => started.kill()))
  await stage.survivor.ask({ do: 'close', line }).catch(complain)
  console.error(`${line}: ${duration === undefined ? 'void' : seconds(duration)}`)
  return duration
}

async function measure(trial: Trial): Promise<Measured> {
  const draws = new Draws(seed)
  const durations: number[] = []
  let lines = 0
  let underWay = 0
  let voids = 0
  const shared = await RedisProcess.start({ port: 'free' })
  // One process for all lines: there are as many victims at a time as the machine can bear.
  const survivor = new ActorProcess()
  const someAfterAnother = async () => {
    const redis = trial.ownRedis === undefined ? shared : await RedisProcess.start(trial.ownRedis)
    while (durations.length + underWay < trials) {
      underWay += 1
      const line = `${trial.name.replaceAll(' ', '-')}-${lines++}`
      const duration = await attempt(trial, { redis, survivor, draws }, line)
      underWay -= 1
      if (duration !== undefined) durations.push(duration)
      else if (++voids > MOST_VOIDS * trials)
        throw new Error(
          `expected ${trials} trials of "${trial.name}", ${voids} others could not be brought about`,
        )
    }
  }
  try {
    await Promise.all(Array.from({ length: together }, someAfterAnother))
  } finally {
    await survivor.kill()
    await RedisProcess.stopAll()
  }
  return { sorted: durations.sort((a, b) => a - b), voids }
}

const chosen = TRIALS.filter(({ name }) => values.kind === undefined || name.startsWith(`${values.kind} `))
if (chosen.length === 0) {
  const kinds = TRIALS.map(({ name }) => name.split(' ')[0]).join(', ')
  console.error(`expected --kind to be one of ${kinds}, got: ${values.kind}`)
  process.exit(2)
}
console.log(
  `recovery, ${trials} trials each, seed ${seed}: from the fault to the start that it had held back`,
)
console.log(
  '| fault | trials | void | least | median | 95 % | most | goal |\n|---|--:|--:|---|---|---|---|---|',
)
let isMissed = false
for (const trial of chosen) {
  const { sorted, voids } = await measure(trial)
  const at = (share: number) =>
    seconds(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!)
  const isKept = sorted.at(-1)! <= trial.goalMs
  if (!isKept) isMissed = true
  const goal = `<= ${seconds(trial.goalMs)}${isKept ? '' : ': MISSED'}`
  console.log(
    `| ${trial.name} | ${sorted.length} | ${voids} | ${at(0)} | ${at(0.5)} | ${at(0.95)} | ${seconds(sorted.at(-1)!)} | ${goal} |`,
  )
}
process.exit(isMissed ? 1 : 0)
