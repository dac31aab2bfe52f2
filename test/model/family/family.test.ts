import { expect, test } from 'vitest'
import { exploreSpace } from '../check/explore.ts'
import { type SharesSetup, sharesSpace } from './check/shares.ts'
import { familySpace } from './check/space.ts'
import { SMALL_FAMILIES } from './configs.ts'
import { FAMILY_MUTANTS, type FamilyMutantName } from './mutants.ts'
import { familySetup } from './setup.ts'

test.each(SMALL_FAMILIES)('$name: no state breaks a law, and from each all jobs can end', (setup) => {
  const { breach, isCut, states, seconds } = exploreSpace(familySpace(setup))
  console.log(`${setup.name}: ${states} states in ${seconds.toFixed(1)} s`)
  expect(isCut).toBe(false)
  expect(breach).toBeUndefined()
})

const names = Object.keys(FAMILY_MUTANTS) as FamilyMutantName[]

test.each(names)('a family that is weaker by %s breaks a law', (name) => {
  const { law, setup } = FAMILY_MUTANTS[name]
  const { breach } = exploreSpace(familySpace(familySetup(name, { ...setup, mutants: new Set([name]) })))
  expect(breach?.law).toBe(law)
})

test.each(names)('what stands against %s is in the protocol: the same setup without it is clean', (name) => {
  const { breach, isCut } = exploreSpace(familySpace(familySetup(name, FAMILY_MUTANTS[name].setup)))
  expect(isCut).toBe(false)
  expect(breach).toBeUndefined()
})

test.each<readonly [string, SharesSetup]>([
  ['equal weights', { jobs: [5, 4] }],
  ['another weight', { jobs: [4, 4], weight: 2 }],
  ['a slower limit of its own', { jobs: [4, 4], interval: 3 }],
])('two buckets share a total fairly, with %s', (_, setup) => {
  const { breach, isCut } = exploreSpace(sharesSpace(setup))
  expect(isCut).toBe(false)
  expect(breach).toBeUndefined()
})

test('shares are not fair where who is new begins at zero', () => {
  const { breach } = exploreSpace(sharesSpace({ jobs: [5, 4], mutants: new Set(['newcomer-at-zero']) }))
  expect(breach?.law).toBe('L12 fair')
})

test('a bucket whose only job comes back without having started keeps its turn', () => {
  const { breach, isCut } = exploreSpace(sharesSpace({ jobs: [4, 1], returns: 3 }))
  expect(isCut).toBe(false)
  expect(breach).toBeUndefined()
})
