import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compileTests } from '../support/compile-tests.ts'
import { runPlanted } from './planted/run-planted.ts'

const USAGE = `npm run test:faults -- [--runs <n>] [--minutes <n> | --rounds <n>] [--seed <n>] [files]

Runs the machines that look for faults (test/fuzz, test/model, test/sim), each for a short time, the fixed campaigns of
test/fault and test/soak, ten seeded runs, and 500 simulated lines; seeded runs and lines are the same each time. With
--rounds or --minutes, runs the campaigns alone, so many rounds, or until so many minutes are over. Each round has a seed
of its own, which it prints; --seed gives that of the first, and the others count on from it. With names of files, runs
those alone.

  --runs <n>        seeded runs, and nothing else: each draws its processes, its Redis and its faults from one seed
  --together <n>    so many of them at a time (default: 2)
  --about <subject> with --runs: the same subject in each run, such as 'bad network'
  --plan            with --runs: print what each seed has drawn
  --recovery <n>    measures, so many times each, for how long a fault holds up a start, and nothing else
  --kind <kind>     with --recovery: that of one fault: worker, scheduler, Redis, crowd, caller or place
  --planted         puts each mended defect into a copy of the checkout, and looks whether it is found
  --only <name>     with --planted: one defect, by its name or number
`
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
const TSX = fileURLToPath(new URL('../../node_modules/tsx/dist/cli.mjs', import.meta.url))
const SIMULATOR = fileURLToPath(new URL('../sim/run.ts', import.meta.url))
const CLOCK_SHIM = fileURLToPath(new URL('../support/campaign/clock-shim.c', import.meta.url))

const { values, positionals } = parseArgs({
  options: {
    runs: { type: 'string' },
    together: { type: 'string' },
    about: { type: 'string' },
    plan: { type: 'boolean' },
    recovery: { type: 'string' },
    kind: { type: 'string' },
    planted: { type: 'boolean' },
    only: { type: 'string' },
    minutes: { type: 'string' },
    rounds: { type: 'string' },
    seed: { type: 'string' },
    help: { type: 'boolean' },
  },
  allowPositionals: true,
})
if (values.help === true) {
  console.log(USAGE)
  process.exit()
}

function count(name: 'recovery' | 'runs' | 'together' | 'minutes' | 'rounds' | 'seed'): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  console.error(`expected --${name} to be a whole number from 1, got: ${text}\n\n${USAGE}`)
  process.exit(2)
}

const runs = count('runs')
const recovery = count('recovery')
const minutes = count('minutes')
const rounds = count('rounds') ?? (minutes === undefined ? 1 : Number.POSITIVE_INFINITY)
const until = minutes === undefined ? Number.POSITIVE_INFINITY : performance.now() + minutes * 60_000
const first = count('seed') ?? randomInt(1, 1e9)
const areRounds = values.rounds !== undefined || minutes !== undefined
// About a minute each. The same seeds each time: whether a change is good must not depend on what is drawn.
const SHORT_SIMULATION = ['--from', '180', '--seeds', '500']
const SHORT_SEEDED = { runs: 10, seed: 1 }

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<boolean> {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  })
  return new Promise((resolve) => child.once('close', (code) => resolve(code === 0)))
}

function runFixed(seed: number): Promise<boolean> {
  const projects = (areRounds ? ['campaign'] : ['machines', 'campaign']).flatMap((name) => [
    '--project',
    name,
  ])
  return start([VITEST, 'run', ...projects, ...positionals], { FAULT_SEED: `${seed}` })
}

/** Runs a program of the campaign, with all that it starts, from a build. */
async function runBuilt(program: string, args: readonly string[], seed = first): Promise<boolean> {
  const { folder, remove } = compileTests()
  try {
    return await start([`${folder}/test/support/campaign/${program}`, '--seed', `${seed}`, ...args])
  } finally {
    remove()
  }
}

function runSeeded(howMany: number, seed = first): Promise<boolean> {
  const shown = values.plan === true ? ['--plan'] : []
  const subject = values.about === undefined ? [] : ['--about', values.about]
  const together = `${count('together') ?? 2}`
  const where = ['--source', CLOCK_SHIM, '--together', together]
  return runBuilt('seeded/main.js', ['--runs', `${howMany}`, ...where, ...shown, ...subject], seed)
}

function measureRecovery(trials: number): Promise<boolean> {
  const together = `${count('together') ?? 5}`
  const kind = values.kind === undefined ? [] : ['--kind', values.kind]
  return runBuilt('recovery/main.js', ['--trials', `${trials}`, '--together', together, ...kind])
}

// Ctrl-C ends the round, whose processes are in the same group, and then this.
let isOver = false
process.once('SIGINT', () => {
  isOver = true
})

async function runRounds(): Promise<boolean> {
  const red: number[] = []
  let done = 0
  while (done < rounds && performance.now() < until && !isOver) {
    const seed = first + done
    if (!(await runFixed(seed))) red.push(seed)
    done += 1
  }
  const failures = red.map((seed) => `\n  npm run test:faults -- --rounds 1 --seed ${seed}`).join('')
  console.log(`${done} ${done === 1 ? 'round' : 'rounds'} from seed ${first}: ${red.length} red${failures}`)
  return red.length === 0
}

async function runAll(): Promise<boolean> {
  if (values.planted === true) return runPlanted(values.only)
  if (recovery !== undefined) return measureRecovery(recovery)
  if (runs !== undefined) return runSeeded(runs)
  const areRoundsGreen = await runRounds()
  if (areRounds || positionals.length > 0 || isOver) return areRoundsGreen
  const areSeededGreen = await runSeeded(SHORT_SEEDED.runs, SHORT_SEEDED.seed)
  return (await start([TSX, SIMULATOR, ...SHORT_SIMULATION])) && areSeededGreen && areRoundsGreen
}

const isGreen = await runAll()
process.exitCode = isGreen && !isOver ? 0 : 1
