import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const USAGE = `npm run test:fuzz -- [--inputs <n>] [--seed <n>] [--only <name>]

Gives so many generated inputs (default 50,000) to the machines of this folder, in the shares that they name, or to those
whose name contains <name>. The seed is printed, and does the same again.
`
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))

const { values } = parseArgs({
  options: {
    inputs: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
    help: { type: 'boolean' },
  },
})
if (values.help === true) {
  console.log(USAGE)
  process.exit()
}

function count(name: 'inputs' | 'seed', otherwise: number): number {
  const text = values[name]
  if (text === undefined) return otherwise
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  console.error(`expected --${name} to be a whole number from 1, got: ${text}\n\n${USAGE}`)
  process.exit(2)
}

const inputs = count('inputs', 50_000)
const seed = count('seed', randomInt(1, 1e9))
console.log(`Seed of the inputs: ${seed} (--inputs ${inputs} --seed ${seed} gives the same again)`)
const env = {
  ...process.env,
  FUZZ_INPUTS: `${inputs}`,
  FUZZ_SEED: `${seed}`,
  ...(values.only !== undefined && { FUZZ_ONLY: values.only }),
}
const args = [VITEST, 'run', '--config', 'test/fuzz/vitest.config.ts', 'test/fuzz/fuzz.test.ts']
const vitest = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' })
vitest.once('close', (code) => {
  process.exitCode = code ?? 1
})
