import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { built } from '../support/built.ts'

/** What three clients in a world see, through cuts, resets, a kill, a stop and a step of the clock. */
function clients(seed: number): string {
  return execFileSync(process.execPath, [built('test/sim/cases/clients.ts'), `${seed}`], { encoding: 'utf8' })
}

test('the same seed gives the same history in every process, to the last digit', () => {
  const first = clients(7)
  expect(clients(7)).toBe(first)
  expect(first.split('\n').length).toBeGreaterThan(100)
})

test('another seed gives another history', () => {
  expect(clients(8)).not.toBe(clients(7))
})

test('nothing real is pending while a world runs, and its processes see the faults', () => {
  const text = clients(9)
  expect(text).toMatch(/\d+ events, pending: \n$/)
  expect(text).toContain('b read ECONNRESET')
  expect(text).toMatch(/^a waited until/m)
  expect(text).toMatch(/^b waited until/m)
  // It was killed.
  expect(text).not.toMatch(/^c waited until/m)
})
