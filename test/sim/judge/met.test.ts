import { expect, test } from 'vitest'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import { Tally } from '../report/tally.ts'
import { metFaults } from './met.ts'
import { aJob, aPlan, SECOND } from './planted.ts'

const plan = aPlan({ jobs: [{ ...aJob('a'), at: 1_000 }] })
const history: readonly HistoryEvent[] = [
  { type: 'answer', at: 2 * SECOND, id: 'a', key: 'k', cost: 1, accepted: true, departsAt: 0 },
  { type: 'start', at: 3 * SECOND, id: 'a', key: 'k', cost: 1, attempt: 1 },
  { type: 'end', at: 4 * SECOND, id: 'a', outcome: 'completed' },
]

function stall(from: number, until: number): Struck {
  const fault = {
    kind: 'stall',
    at: from * 1_000,
    for: (until - from) * 1_000,
    until: until * 1_000,
  } as const
  return { fault, from: from * SECOND, until: until * SECOND }
}

test('a fault meets a job from its request to its end', () => {
  const kinds = (struck: Struck) => metFaults(plan, [struck], history).map(({ kind }) => kind)
  expect(kinds(stall(1.5, 1.6))).toEqual(['stall'])
  expect(kinds(stall(3.5, 9))).toEqual(['stall'])
  expect(kinds(stall(0, 0.9))).toEqual([])
  expect(kinds(stall(4.1, 9))).toEqual([])
})

test('a job that the store lost was met', () => {
  expect(metFaults(plan, [stall(8, 9)], history.slice(0, 2))).toHaveLength(1)
})

test('an idle run counts for nothing in the totals', () => {
  const tally = new Tally()
  const report = { seed: 1, events: 100, seconds: 3_600, starts: 7, recoveries: [['Redis back', 5]] as const }
  tally.add({ ...report, faults: ['stall'], isIdle: false })
  tally.add({ ...report, faults: [], isIdle: true })
  expect(tally.line()).toMatch(/^1 seeds and 1 idle, .* 1\.0 virtual hours, 7 starts, 0 failed$/)
  expect(tally.report()).toContain('Redis back: 1 times')
})

test('an idle run that failed is red', () => {
  const tally = new Tally()
  const failure = { laws: ['L1'], text: 'planted' }
  tally.add({ seed: 1, events: 1, seconds: 1, starts: 1, faults: [], recoveries: [], isIdle: true, failure })
  expect(tally.failures).toBe(1)
})
