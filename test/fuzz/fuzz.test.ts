import { expect, test } from 'vitest'
import { MACHINES } from './machines.ts'

/** The same inputs each time: a run of chance is for `npm run test:fuzz`, which sets these variables. */
const seed = Number(process.env['FUZZ_SEED'] ?? 20_260_101)
const total = process.env['FUZZ_INPUTS']
const only = process.env['FUZZ_ONLY'] ?? ''

const chosen = MACHINES.filter(({ name }) => name.includes(only))
const shares = chosen.reduce((sum, { share }) => sum + share, 0)

test.each(chosen.map((machine) => [machine.name, machine] as const))(
  '%s',
  { timeout: total === undefined ? 600_000 : 0 },
  async (_, machine) => {
    const inputs = total === undefined ? machine.few : Math.ceil((Number(total) * machine.share) / shares)
    const from = performance.now()
    const given = await machine.run({ inputs, seed })
    expect(given).toBeGreaterThanOrEqual(inputs)
    if (total !== undefined) {
      const seconds = (performance.now() - from) / 1_000
      console.log(`${machine.name}: ${given} inputs in ${seconds.toFixed(1)} s, seed ${seed}: none failed`)
    }
  },
)
