import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describeMachine } from './report/machine.ts'
import { drawSmoothness } from './report/picture.ts'
import { refreshReadme } from './report/readme.ts'
import { asText, type Table } from './report/table.ts'
import { runScenario } from './rounds.ts'
import { SCENARIOS } from './scenarios/index.ts'
import type { Result } from './scenarios/scenario.ts'

const USAGE = `npm run bench -- [options]
  --rounds N     measurements of each kind, of which the median counts (default 5)
  --only NAME    one scenario: ${SCENARIOS.map(({ name }) => name).join(', ')}
  --quick        a smoke check of about a minute: one round, smaller sizes
  --write        also refresh the tables in bench/README.md`

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string' },
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 5))
const scenarios = SCENARIOS.filter(({ name }) => flags.only === undefined || name === flags.only)
if (flags.help || !(Number.isInteger(rounds) && rounds >= 1) || scenarios.length === 0) {
  console.log(USAGE)
  process.exit(flags.help ? 0 : 2)
}

const machine = describeMachine(rounds)
const tables: Table[] = []
const results: Record<string, Result[]> = {}
console.log(`${machine}\n`)
for (const scenario of scenarios) {
  const measured = await runScenario(scenario, rounds, flags.quick)
  const shown = scenario.tables(measured)
  for (const table of shown) console.log(asText(table))
  results[scenario.name] = measured
  tables.push(...shown)
}

// A part of the bench, or a quick look, must not overwrite the figures of a whole run.
if (flags.only === undefined && !flags.quick) {
  write('results.json', `${JSON.stringify({ machine, rounds, results })}\n`)
  write('results.svg', drawSmoothness(results['smoothness-1-key']!, machine))
}
if (flags.write) {
  refreshReadme(machine, tables)
  console.log('refreshed bench/README.md')
}

function write(name: string, content: string): void {
  writeFileSync(fileURLToPath(new URL(name, import.meta.url)), content)
  console.log(`wrote bench/${name}`)
}
