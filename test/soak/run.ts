import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const USAGE = `npm run test:soak -- [--minutes <n>] [--seed <n>] [--out <file>]

Runs a fleet under load and faults for so many minutes (default 30), and writes all samples to the file, as JSON.
`
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: `${randomInt(1, 1e9)}` },
    out: { type: 'string' },
    help: { type: 'boolean' },
  },
})
const { minutes, seed, out = join(tmpdir(), `velvet-rope-soak-${seed}.json`) } = values
if (values.help === true || !/^\d{1,4}(?:\.\d+)?$/.test(minutes) || !/^\d{1,9}$/.test(seed)) {
  console.log(USAGE)
  process.exit(values.help === true ? 0 : 2)
}
const env = { ...process.env, SOAK_MINUTES: minutes, SOAK_SEED: seed, SOAK_OUT: out }
const args = [VITEST, 'run', '--project', 'campaign', 'test/soak/soak.test.ts']
spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' }).once('close', (code) => {
  console.log(`the samples: ${out}`)
  process.exitCode = code ?? 1
})
