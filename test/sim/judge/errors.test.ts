import { expect, test } from 'vitest'
import { BackendUnavailableError } from '../../../src/core/errors.ts'
import { openStore } from '../open-store.ts'
import { runPlan } from '../run-plan.ts'
import { judgeErrors } from './errors.ts'
import { aJob, aPlan, SECOND, ways } from './planted.ts'

/** The laws that a run breaks in which nothing goes wrong, a call fails, and the worker reports an error. */
function broken(
  oneWayMs: number,
  calledAt: number,
  error: Error,
  took = 1.9,
  requests = 1,
  hasScripts = true,
  struck: readonly { readonly from: number }[] = [],
): string[] {
  const process = { name: 'worker-1', bornAt: 0, uncaught: [] }
  const record = {
    errors: [{ process, at: (calledAt + 1.9) * SECOND, error }],
    unavailable: [{ process, at: calledAt * SECOND, took: took * SECOND, requests }],
  }
  const world = { now: 60 * SECOND, processes: [process] }
  const faults = struck.map(() => ({ kind: 'stall', at: 0, for: 9_000, until: 9_000 }) as const)
  const plan = aPlan({ network: ways(oneWayMs), hasScripts, faults })
  return judgeErrors({ plan, world, record, silences: [], struck }).map(({ law }) => law)
}

const away = new BackendUnavailableError('Redis is unavailable: no answer in time')

test('where a shaper takes longer to open than calls wait, calls fail until it is open', async () => {
  const plan = aPlan({ jobs: [aJob('a')], network: ways(60) })
  const { failures, scene } = await runPlan(plan, openStore)
  expect(failures).toEqual([])
  expect(scene.record.unavailable).toHaveLength(1)
  expect(broken(60, 0.1, away)).toEqual([])
})

test('no call fails later, or where a shaper opens in time', () => {
  expect(broken(60, 6, away)).toEqual(['errors', 'L8'])
  expect(broken(40, 0.1, away)).toEqual(['errors', 'L8'])
})

test('what goes wrong later is no reason for an error or a call that fails', () => {
  const struck = (at: number) => [{ from: at * SECOND }]
  expect(broken(1, 6, away, 1.9, 1, true, struck(5))).toEqual([])
  expect(broken(1, 6, away, 1.9, 1, true, struck(7.8))).toEqual([])
  expect(broken(1, 6, away, 1.9, 1, true, struck(8))).toEqual(['errors', 'L8'])
})

test('a call that waits for the opening fails in time as well, and nothing else goes wrong', () => {
  expect(broken(60, 0.1, away, 2.5)).toEqual(['L8'])
  expect(broken(60, 0.1, new Error('no'))).toEqual(['errors'])
})

test('a call that makes several requests, one after the other, waits for each of them', () => {
  expect(broken(60, 0.1, away, 5.7, 3)).toEqual([])
  expect(broken(60, 0.1, away, 7, 3)).toEqual(['L8'])
})

test.each(['freeze', 'pause'] as const)(
  'a %s that waits for the opening fails in time as well',
  async (what) => {
    const faults = [{ kind: 'refusal', at: 1_250, for: 5_000, says: 'READONLY', until: 6_250 }] as const
    const actions = [{ do: what, at: 20, key: 'k', for: 100 }] as const
    const { failures, scene } = await runPlan(aPlan({ network: ways(40), actions, faults }), openStore)
    expect(failures).toEqual([])
    expect(scene.record.unavailable.length).toBeGreaterThan(1)
  },
)

test('a call of a script that Redis may not have waits for two requests', () => {
  expect(broken(60, 0.1, away, 4.5, 1, false)).toEqual([])
  expect(broken(60, 0.1, away, 4.7, 1, false)).toEqual(['L8'])
})
