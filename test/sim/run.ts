import './world/patch.ts'
import { parseArgs } from 'node:util'
import { hunt } from './mutants/hunt.ts'
import { runMutants } from './mutants/run-mutants.ts'
import { openStore } from './open-store.ts'
import { drawPlan } from './plan/draw.ts'
import { isSubject, SUBJECTS, type Subject } from './plan/subjects.ts'
import { summary, timeline } from './report/timeline.ts'
import { runMany } from './run-many.ts'
import { runPlan } from './run-plan.ts'

const USAGE = `npm run test:sim -- [--seeds <n>] [--from <n>] [--minutes <n>] [--first] [--processes <n>] [--folder <path>]
npm run test:sim -- --only <seed> [--trace]
npm run test:sim -- --subject <name> [--seeds <n>] [--from <n>]
npm run test:sim -- --mutants [--mutant <name>]

Runs simulated lines, each drawn from its seed: 1,000 of them from seed 1 on, or as many as are asked for, or until so
many minutes are over; --first stops at the first failure. Failures are made smaller and written to files. --only runs one
seed, and --trace shows its history. --subject runs seeds about one thing, until the first that fails: ${Object.keys(SUBJECTS).join(', ')}.
--mutants puts known defects into copies of the sources, and shows for each which seed finds it, and which law that breaks.
`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string' },
    minutes: { type: 'string' },
    only: { type: 'string' },
    processes: { type: 'string' },
    folder: { type: 'string' },
    trace: { type: 'boolean' },
    first: { type: 'boolean' },
    mutants: { type: 'boolean' },
    mutant: { type: 'string' },
    subject: { type: 'string' },
    help: { type: 'boolean' },
  },
})

function count(name: 'seeds' | 'from' | 'minutes' | 'only' | 'processes'): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  if (/^\d{1,12}$/.test(text)) return Number(text)
  console.error(`expected --${name} to be a whole number, got: ${text}\n\n${USAGE}`)
  process.exit(2)
}

function subjectOf(): Subject | undefined {
  const { subject } = values
  if (subject === undefined || isSubject(subject)) return subject
  console.error(
    `expected --subject to be one of ${Object.keys(SUBJECTS).join(', ')}, got: ${subject}\n\n${USAGE}`,
  )
  process.exit(2)
}

/** Returns whether all were good. */
async function runAbout(subject: Subject): Promise<boolean> {
  const { seeds, idle, found } = await hunt(subject, count('from') ?? 1, count('seeds') ?? 100)
  console.log(`${seeds} seeds about "${subject}" and ${idle} idle, ${found === undefined ? 0 : 1} failed`)
  if (found !== undefined) console.log(`seed ${found.seed} failed (${found.laws.join(', ')}):\n${found.text}`)
  return found === undefined
}

async function runOne(seed: number): Promise<boolean> {
  const outcome = await runPlan(drawPlan(seed, subjectOf()), openStore)
  if (values.trace === true) console.log(timeline(outcome))
  if (outcome.failures.length > 0) console.log(`seed ${seed} failed:\n${summary(outcome.failures)}`)
  const virtual = (outcome.lasted / 1e6).toFixed(1)
  console.log(
    `seed ${seed}: ${outcome.events} events, ${virtual} s of virtual time, ${outcome.failures.length} failures`,
  )
  return outcome.failures.length === 0
}

if (values.help === true) {
  console.log(USAGE)
  process.exit()
}
if (values.mutants === true || values.mutant !== undefined) {
  process.exit((await runMutants(values.mutant, count('from') ?? 1)) ? 0 : 1)
}
const only = count('only')
const minutes = count('minutes')
const subject = subjectOf()
const isGood =
  only !== undefined
    ? await runOne(only)
    : subject !== undefined
      ? await runAbout(subject)
      : await runMany({
          from: count('from') ?? 1,
          seeds: count('seeds') ?? (minutes === undefined ? 1_000 : Number.POSITIVE_INFINITY),
          minutes: minutes ?? Number.POSITIVE_INFINITY,
          processes: count('processes') ?? 2,
          folder: values.folder ?? '.sim',
          stopsAtFirst: values.first === true,
        })
process.exitCode = isGood ? 0 : 1
