import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { redisVersion } from './redis/server.ts'
import { describeMachine } from './report/machine.ts'
import { drawSmoothness } from './report/picture.ts'
import { refreshReadme } from './report/readme.ts'
import { asText, type Table } from './report/table.ts'
import { runScenario } from './rounds.ts'
import { PARTS, type Part } from './scenarios/index.ts'
import type { Result } from './scenarios/scenario.ts'

const NAMES = PARTS.flatMap(({ scenarios }) => scenarios).map(({ name }) => name)
const USAGE = `npm run bench -- [options]
  --memory, --redis, --http  a part; default: all. The last two start redis-server by themselves
  --only NAME        one scenario: ${NAMES.join(', ')}
  --rounds N         measurements of each kind, of which the median counts (default 5)
  --quick            a smoke check of a few minutes: one round, smaller sizes
  --write            also refresh the tables in bench/README.md`

const { values: flags } = parseArgs({
  options: {
    memory: { type: 'boolean', default: false },
    redis: { type: 'boolean', default: false },
    http: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 5))
const isAny = flags.memory || flags.redis || flags.http
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
const server = parts.some(({ needsRedis }) => needsRedis) ? findRedis() : ''
for (const part of parts) await runPart(part)

async function runPart(part: Part): Promise<void> {
  const machine = describeMachine(rounds, part.packages, part.needsRedis ? server : undefined)
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

function findRedis(): string {
  try {
    return redisVersion()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}

function write(name: string, content: string): void {
  writeFileSync(fileURLToPath(new URL(name, import.meta.url)), content)
  console.log(`wrote bench/${name}`)
}
