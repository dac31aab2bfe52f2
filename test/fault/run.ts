import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const USAGE = `npm run test:faults -- [--minutes <n> | --rounds <n>] [--seed <n>] [files]

Runs the fault campaigns: once, or so many rounds, or until so many minutes are over. Each round has a seed of its own,
which it prints; --seed gives that of the first, and those that follow are counted from it.
`
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))

const { values, positionals } = parseArgs({
  options: {
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

function count(name: 'minutes' | 'rounds' | 'seed'): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  console.error(`expected --${name} to be a whole number from 1, got: ${text}\n\n${USAGE}`)
  process.exit(2)
}

const minutes = count('minutes')
const rounds = count('rounds') ?? (minutes === undefined ? 1 : Number.POSITIVE_INFINITY)
const until = minutes === undefined ? Number.POSITIVE_INFINITY : performance.now() + minutes * 60_000
const first = count('seed') ?? randomInt(1, 1e9)

function run(seed: number): Promise<boolean> {
  const args = [VITEST, 'run', '--project', 'campaign', ...positionals]
  const env = { ...process.env, FAULT_SEED: `${seed}` }
  const vitest = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' })
  return new Promise((resolve) => vitest.once('close', (code) => resolve(code === 0)))
}

// Ctrl-C ends the round, whose processes are in the same group, and then this.
let isOver = false
process.once('SIGINT', () => {
  isOver = true
})
const red: number[] = []
let done = 0
while (done < rounds && performance.now() < until && !isOver) {
  const seed = first + done
  if (!(await run(seed))) red.push(seed)
  done += 1
}
const failures = red.map((seed) => `\n  npm run test:faults -- --seed ${seed}`).join('')
console.log(`${done} ${done === 1 ? 'round' : 'rounds'} from seed ${first}: ${red.length} red${failures}`)
process.exitCode = red.length > 0 || isOver ? 1 : 0
