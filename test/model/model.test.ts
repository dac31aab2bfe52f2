import { expect, test } from 'vitest'
import { explore } from './check/explore.ts'
import { LEAST_LEASE, SMALL_RUNS, setup } from './configs.ts'
import { SMALL } from './durations.ts'
import { MUTANTS, type MutantName } from './mutants.ts'

/** A shortest way to a fault that is longer than this says little to people. */
const LONGEST_TRACE = 30
const TWO_OUTAGES = { jobs: [{ cost: 1 }], faults: 2, kinds: ['outage'] } as const

test.each(SMALL_RUNS)('$name: no state breaks a law, and from each all jobs can end', (run) => {
  const { breach, isCut, states, seconds } = explore(run)
  console.log(`${run.name}: ${states} states in ${seconds.toFixed(1)} s`)
  expect(isCut).toBe(false)
  expect(breach).toBeUndefined()
})

test('a lease that two short outages outlast may end, and the job starts twice: that is the limit of the docs', () => {
  const run = (lease: number) =>
    setup('1 job, two outages', { ...TWO_OUTAGES, durations: { ...SMALL, lease } })
  expect(explore(run(LEAST_LEASE)).breach).toBeUndefined()
  expect(explore(run(LEAST_LEASE - 1)).breach?.law).toBe('L5 one start too many')
})

const names = Object.keys(MUTANTS) as MutantName[]

test.each(names)('a protocol that is weaker by %s breaks a law', (name) => {
  const mutant = setup(name, { ...MUTANTS[name].setup, mutants: new Set([name]) })
  const { breach } = explore(mutant, { withProgress: MUTANTS[name].law === 'progress' })
  expect(breach?.law).toBe(MUTANTS[name].law)
  expect(breach!.trace.length).toBeLessThanOrEqual(LONGEST_TRACE)
})

test.each(names)('what stands against %s is in the protocol: the same setup without it is clean', (name) => {
  const { breach, isCut } = explore(setup(name, MUTANTS[name].setup), { withProgress: false })
  expect(isCut).toBe(false)
  expect(breach).toBeUndefined()
})
