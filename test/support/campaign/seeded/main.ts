import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { isOnPath } from '../../programs.ts'
import { RedisProcess } from '../../redis-process.ts'
import { buildClockShim } from '../clock-shim.ts'
import { drawPlan, type Means } from './draw-plan.ts'
import { runOne } from './run-one.ts'

// Seeded runs, one after the other or some at a time; compiled and started by `test/fault/run.ts`.
const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string' },
    about: { type: 'string' },
    together: { type: 'string', default: '1' },
    source: { type: 'string' },
    plan: { type: 'boolean' },
  },
})
const runs = Number(values.runs)
const first = Number(values.seed)
const scratch = mkdtempSync(join(tmpdir(), 'velvet-rope-seeded-'))
const shim = buildClockShim(
  values.source ?? fileURLToPath(new URL('../clock-shim.c', import.meta.url)),
  scratch,
)
const means: Means = { hasClockShim: shim !== undefined, hasStrace: isOnPath('strace') }
const missing = [
  ...(means.hasClockShim ? [] : ['NO COMPILER OF C WAS FOUND: no run moves the clock of Redis']),
  ...(means.hasStrace ? [] : ['NO strace WAS FOUND: no run has a failing disk']),
]
for (const line of missing) console.log(line)

const red: number[] = []
let idle = 0
let undecided = 0
let next = first
let isOver = false
process.once('SIGINT', () => {
  isOver = true
})

async function runSome(): Promise<void> {
  while (next < first + runs && !isOver) {
    const seed = next
    next += 1
    await run(seed)
  }
}

async function run(seed: number): Promise<void> {
  const plan = drawPlan(seed, means, values.about)
  if (values.plan === true) console.log(JSON.stringify(plan, null, 2))
  const { counts, durationMs, isIdle, isUndecided, failure, folder } = await runOne(plan, shim)
  const figures = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${count}`)
  const calm = isIdle ? 'IDLE' : 'green'
  const verdict = failure !== undefined ? 'RED' : isUndecided ? 'UNDECIDED' : calm
  if (verdict === 'IDLE') idle += 1
  if (verdict === 'UNDECIDED') {
    undecided += 1
    console.log(`the records of seed ${seed}: ${folder}`)
  }
  console.log(
    `seed ${seed}  ${verdict}  ${(durationMs / 1_000).toFixed(1)} s  ${plan.subject}: ${figures.join(', ')}`,
  )
  if (failure === undefined) return
  red.push(seed)
  const about = values.about === undefined ? '' : ` --about '${values.about}'`
  console.log(`${failure}\nfaults: ${JSON.stringify([...plan.armed, ...plan.faults])}`)
  console.log(`the records: ${folder}\nagain: npm run test:faults -- --runs 1 --seed ${seed}${about}\n`)
}

await Promise.all(Array.from({ length: Number(values.together) }, runSome))
await RedisProcess.stopAll()
rmSync(scratch, { recursive: true })
const done = next - first
if (idle > 0) console.log(`${idle} IDLE: what was done met no job, so these runs count for nothing`)
if (undecided > 0)
  console.log(
    `${undecided} UNDECIDED: a breach or none, by times that fit two moments; these count for nothing`,
  )
const counted = done - idle - undecided
console.log(
  `${counted} seeded ${counted === 1 ? 'run' : 'runs'} from seed ${first}: ${red.length} red${red.map((seed) => `\n  npm run test:faults -- --runs 1 --seed ${seed}`).join('')}`,
)
for (const line of missing) console.log(line)
// Without a run that counts, nothing was shown.
process.exit(red.length > 0 || isOver || counted === 0 ? 1 : 0)
