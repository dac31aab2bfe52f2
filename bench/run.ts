import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describeMachine } from './report/machine.ts'
import { drawSmoothness } from './report/picture.ts'
import { refreshReadme } from './report/readme.ts'
import { asText, type Table } from './report/table.ts'
import { runScenario } from './rounds.ts'
import { PARTS, type Part } from './scenarios/index.ts'
import type { Result } from './scenarios/scenario.ts'
import { SERVERS, type ServerName } from './servers.ts'

const NAMES = PARTS.flatMap(({ scenarios }) => scenarios).map(({ name }) => name)
const USAGE = `npm run bench -- [options]
  --memory, --redis, --buckets, --dashboard, --http, --meter  a part; default: all. All but the first start
                     redis-server by themselves, the last PostgreSQL too, and --dashboard Chromium
  --only NAME        one scenario: ${NAMES.join(', ')}
  --rounds N         measurements of each kind, of which the median counts (default 5)
  --quick            a smoke check of a few minutes: one round, smaller sizes
  --write            also refresh the tables in bench/README.md`

const { values: flags } = parseArgs({
  options: {
    memory: { type: 'boolean', default: false },
    redis: { type: 'boolean', default: false },
    buckets: { type: 'boolean', default: false },
    dashboard: { type: 'boolean', default: false },
    http: { type: 'boolean', default: false },
    meter: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 5))
const isAny = PARTS.some(({ name }) => flags[name])
const parts = PARTS.filter((part) => !isAny || flags[part.name])
  .map((part) => ({ ...part, scenarios: part.scenarios.filter(isWanted) }))
  .filter(({ scenarios }) => scenarios.length > 0)
if (flags.help || !(Number.isInteger(rounds) && rounds >= 1) || parts.length === 0) {
  console.log(USAGE)
  process.exit(flags.help ? 0 : 2)
}

// So that servers and trials end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
// Asked before the first figure: a missing server should not be found after ten minutes.
const versions = new Map([...new Set(parts.flatMap(serversOf))].map((name) => [name, findServer(name)]))
for (const part of parts) await runPart(part)

async function runPart(part: Part): Promise<void> {
  const servers = serversOf(part).map((name) => versions.get(name)!)
  const machine = describeMachine(rounds, part.packages, servers)
  const tables: Table[] = []
  const results: Record<string, Result[]> = {}
  console.log(`${machine}\n`)
  for (const scenario of part.scenarios) {
    const measured = await runScenario(part, scenario, rounds, flags.quick)
    const shown = scenario.tables(measured)
    for (const table of shown) console.log(asText(table))
    results[scenario.name] = measured
    tables.push(...shown)
  }
  const isWhole = flags.only === undefined
  // A part of the bench, or a quick look, must not overwrite the figures of a whole run.
  if (isWhole && !flags.quick) {
    const name = part.name === 'memory' ? 'results' : `results-${part.name}`
    write(`${name}.json`, `${JSON.stringify({ machine, rounds, results })}\n`)
    if (part.picture !== undefined) write(`${name}.svg`, drawSmoothness(results[part.picture]!, machine))
  }
  if (flags.write) {
    refreshReadme(part.name, machine, tables, isWhole)
    console.log('refreshed bench/README.md')
  }
}

function isWanted({ name }: { readonly name: string }): boolean {
  return flags.only === undefined || name === flags.only
}

/** Those that the wanted scenarios need. */
function serversOf({ scenarios, serverOf }: Part): ServerName[] {
  const trials = scenarios.flatMap((scenario) => scenario.trials(flags.quick))
  const names = trials.map(({ product }) => serverOf(product)).filter((name) => name !== undefined)
  return [...new Set(names)]
}

function findServer(name: ServerName): string {
  try {
    return SERVERS[name].version()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}

function write(name: string, content: string): void {
  writeFileSync(fileURLToPath(new URL(name, import.meta.url)), content)
  console.log(`wrote bench/${name}`)
}
