import { parseArgs } from 'node:util'
import { type ExploreOptions, explore, exploreSpace } from './check/explore.ts'
import { FULL_RUNS, SMALL_RUNS } from './configs.ts'
import { familySpace } from './family/check/space.ts'
import { FULL_FAMILIES, SMALL_FAMILIES } from './family/configs.ts'
import { FAMILY_MUTANTS, type FamilyMutantName } from './family/mutants.ts'
import { familySetup } from './family/setup.ts'

const USAGE = `npm run test:model -- [--small] [--only <text>] [--most <states>]

Explores all states of the handoff within the bounds of each setup, and checks the laws in each of them.
`
const { values } = parseArgs({
  options: {
    small: { type: 'boolean' },
    only: { type: 'string' },
    most: { type: 'string' },
    help: { type: 'boolean' },
  },
})
if (values.help === true) {
  console.log(USAGE)
  process.exit()
}
const most = Number(values.most ?? 4_000_000)
if (!Number.isInteger(most) || most < 1) {
  console.error(`expected --most to be a whole number from 1, got: ${values.most}\n\n${USAGE}`)
  process.exit(2)
}

const isSmall = values.small === true
const runs = [
  ...(isSmall ? SMALL_RUNS : FULL_RUNS).map((setup) => ({
    name: setup.name,
    explore: (options: ExploreOptions) => explore(setup, options),
  })),
  ...(isSmall ? SMALL_FAMILIES : FULL_FAMILIES).map((setup) => ({
    name: `family: ${setup.name}`,
    explore: (options: ExploreOptions) => exploreSpace(familySpace(setup), options),
  })),
].filter(({ name }) => name.includes(values.only ?? ''))
const total = { states: 0, seconds: 0, red: 0 }
console.log(' states      steps       depth   cpu s  setup')
for (const run of runs) {
  const { states, steps, depth, seconds, isCut, breach } = run.explore({ mostStates: most })
  total.states += states
  total.seconds += seconds
  const end = isCut ? `, cut at ${most} states: not complete` : ''
  const numbers = [
    String(states).padEnd(11),
    String(steps).padEnd(11),
    String(depth).padEnd(7),
    seconds.toFixed(1).padEnd(6),
  ]
  console.log(` ${numbers.join(' ')} ${run.name}${end}`)
  if (breach === undefined) continue
  total.red++
  console.log(`\n${breach.law}, after\n  ${breach.trace.join('\n  ')}\n`)
}
for (const name of Object.keys(FAMILY_MUTANTS) as FamilyMutantName[]) {
  if (!`family: ${name}`.includes(values.only ?? '')) continue
  const { what, law, setup } = FAMILY_MUTANTS[name]
  const { breach } = exploreSpace(familySpace(familySetup(name, { ...setup, mutants: new Set([name]) })))
  if (breach?.law !== law) total.red++
  console.log(`\nfamily: ${name}: ${what}: ${breach?.law ?? 'nothing is found'}, after`)
  console.log(`  ${breach?.trace.join('\n  ') ?? ''}`)
}
const rate = Math.round((total.states / total.seconds) * 60)
console.log(
  `${total.states} states in ${total.seconds.toFixed(1)} s of processor time, ${rate} a minute: ${total.red} red`,
)
process.exitCode = total.red > 0 ? 1 : 0
